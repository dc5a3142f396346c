"""``somamba leakage CHECKPOINT``: how much of the recurrent state and of its read-out is fast in space."""

from argparse import Namespace

from somamba.cli.model_options import asked_evaluation, heading
from somamba.cli.output import say
from somamba.cli.progress import told_progress
from somamba.evaluation.leakage import LeakageConfig, leakage_records, measure_leakage
from somamba.report.names import counted
from somamba.results.leakage import LeakageRecord, by_cutoff, by_unit
from somamba.results.record import write_records


def main(options: Namespace) -> None:
    """Measure (under ``torchrun`` together with the other processes), print and write rows."""
    config = LeakageConfig(cutoffs=tuple(options.cutoff), radius=options.radius, backend=options.backend)
    with asked_evaluation(options) as (trained, asked, world):
        dataset = asked.slices()
        with told_progress("units", leads=world.leads) as tell:
            results = measure_leakage(
                trained.model, dataset, config, device=world.device, processes=world, on_progress=tell
            )
        if world.leads:
            cutoffs = (f"{cutoff:g}" for cutoff in config.cutoffs)
            command = asked.command("leakage", "--cutoff", *cutoffs, "--radius", config.radius)
            records = leakage_records(results, dataset, config, asked.provenance(trained, dataset, command))
            if options.csv is not None:
                write_records(options.csv, records)
            say(describe(records))


def describe(records: list[LeakageRecord]) -> str:
    """The text that is printed: the numbers of Table 5, then unit by unit."""
    first = records[0]
    slices = sum({record.case: record.slices for record in records}.values())
    averages, units = by_cutoff(records), by_unit(records)
    measured = heading(first.setting, first.sampled, first.cases, slices)
    lines = [f"{measured}, {counted(first.units, 'unit')}; rho = 1 at the {first.radius}"]
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
