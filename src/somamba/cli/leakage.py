"""``somamba leakage CHECKPOINT``: how much of the recurrent state and of its read-out is fast in space."""

from argparse import ArgumentParser

from somamba.cli.measurement import asked_examination, measurement_parser
from somamba.cli.progress import told_progress
from somamba.data.slices import SliceDataset
from somamba.evaluation.leakage import CUTOFFS, CaseLeakage, LeakageConfig, leakage_rows, measure_leakage
from somamba.evaluation.leakage_rows import LeakageRow, by_cutoff, by_unit, write_leakage
from somamba.inference.trained import Trained, open_model
from somamba.runtime.processes import World, joined
from somamba.runtime.threads import use_threads
from somamba.scan.backends import BACKENDS

DESCRIPTION = """Measure the two-level leakage of an SO-Mamba on one split of a dataset (Table 5 of the paper).

HLeak is the share of the energy of the scan's states beyond the radial cutoff r, RLeak that of the read-out before
the output projection, eta = RLeak / HLeak. Mean over the units and slices of a case, then over cases; eta is that of
the means. One row of the CSV file is one unit on one case at one cutoff.

examples:
  somamba leakage runs/acdc_x4/best --dataset acdc --data data/acdc --split val --limit-cases 2
  somamba leakage runs/fastmri_x8/best --dataset fastmri --data data/fastmri --split val --csv results/leakage.csv
  torchrun --nproc-per-node 2 -m somamba leakage runs/acdc_x4/best --dataset acdc --data data/acdc --cutoff 0.25 0.35"""


def main(arguments: list[str]) -> None:
    """Parse, measure (under ``torchrun`` together with the other processes), print, write."""
    options = _parser().parse_args(arguments)
    use_threads(options.threads)
    config = LeakageConfig(cutoffs=tuple(options.cutoff), radius=options.radius, backend=options.backend)
    trained = open_model(options.checkpoint)
    asked = asked_examination(trained, options)
    with joined(options.device) as world:
        dataset = asked.slices()
        results = _measure(trained, dataset, config, world)
        if world.leads:
            command = asked.command("leakage", *_words(config))
            rows = leakage_rows(results, dataset, config, asked.provenance(trained, dataset, command))
            print(describe(rows))
            if options.csv is not None:
                write_leakage(options.csv, rows)


def describe(rows: list[LeakageRow]) -> str:
    """What is printed: the numbers of Table 5, then unit by unit."""
    first = rows[0]
    slices = sum({row.case: row.slices for row in rows}.values())
    averages, units = by_cutoff(rows), by_unit(rows)
    lines = [
        f"{first.dataset} {first.split}, protocol {first.protocol}, {first.mask} mask, x{first.acceleration:g} "
        f"(realised x{first.realised_acceleration:.2f}): {first.cases} cases, {slices} slices, {first.units} units; "
        f"rho = 1 at the {first.radius}"
    ]
    for cutoff, (hleak, rleak, eta) in averages.items():
        lines += [
            f"  r = {cutoff:g}   HLeak {hleak.mean:.4f} ± {hleak.std:.4f}   RLeak {rleak.mean:.4f} ± {rleak.std:.4f}"
            f"   eta {eta:.3f}"
        ]
    lines += ["", "  unit" + "".join(f"   HLeak {cutoff:<5g}  RLeak    eta" for cutoff in averages)]
    for unit in range(1, first.units + 1):
        cells = [units[cutoff, unit] for cutoff in averages]
        numbers = [f"   {cell.hleak.mean:11.4f} {cell.rleak.mean:6.4f} {cell.eta:6.3f}" for cell in cells]
        lines.append(f"  {unit:>4}" + "".join(numbers))
    return "\n".join(lines)


def _parser() -> ArgumentParser:
    parser = measurement_parser("leakage", DESCRIPTION)
    parser.add_argument("--cutoff", type=float, nargs="+", default=list(CUTOFFS), metavar="r", help="0.25 and 0.35")
    parser.add_argument("--radius", choices=("corner", "side"), default="corner", help="where rho is 1")
    parser.add_argument(
        "--backend",
        choices=("auto", *(name for name in BACKENDS if name != "fused")),
        default="auto",
        help="scan that supplies the states; it changes the time, not the numbers",
    )
    return parser


def _measure(trained: Trained, dataset: SliceDataset, config: LeakageConfig, world: World) -> list[CaseLeakage]:
    model = trained.model.to(world.device)
    with told_progress("units", leads=world.leads) as tell:
        return measure_leakage(model, dataset, config, device=world.device, processes=world, on_unit=tell)


def _words(config: LeakageConfig) -> tuple[str, ...]:
    return ("--cutoff", *(f"{cutoff:g}" for cutoff in config.cutoffs), "--radius", config.radius)
