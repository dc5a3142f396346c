"""Costs that were never counted."""

from somamba.results.cost import CostRecord


def cost_row(method, *, size=(320, 320), **changes):
    """A row that was counted and not measured."""
    facts = {
        "method": method,
        "height": size[0],
        "width": size[1],
        "parameters": 1_811_352,
        "module_macs": 45_590_000_000,
        "all_macs": 44_100_000_000,
        "scan_macs": 8_000_000_000,
        "fft_macs": 500_000_000,
        "seconds": 0.0,
        "megabytes": 0.0,
        "threads": 2,
        "processor": "",
        "commit": "unknown",
        "command": "somamba cost --all",
    }
    return CostRecord(**facts | changes)
