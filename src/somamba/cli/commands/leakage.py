"""``somamba leakage CHECKPOINT``: how much of the recurrent state and of its read-out is fast in space."""

from somamba.cli.model_options import asked_evaluation
from somamba.cli.output import say
from somamba.cli.parsers.leakage import parser
from somamba.cli.progress import told_progress
from somamba.data.slices import SliceDataset
from somamba.evaluation.leakage import CaseLeakage, LeakageConfig, leakage_records, measure_leakage
from somamba.inference.weights.trained import Trained, open_model
from somamba.report.names import counted
from somamba.results.leakage import LeakageRecord, by_cutoff, by_unit, write_leakage
from somamba.runtime.device import use_threads
from somamba.runtime.processes import World, joined


def main(arguments: list[str]) -> None:
    """Parse the options, measure (under ``torchrun`` together with the other processes), print and write rows."""
    options = parser().parse_args(arguments)
    use_threads(options.threads)
    config = LeakageConfig(cutoffs=tuple(options.cutoff), radius=options.radius, backend=options.backend)
    trained = open_model(options.checkpoint)
    asked = asked_evaluation(trained, options)
    with joined(options.device) as world:
        dataset = asked.slices()
        results = _measure(trained, dataset, config, world)
        if world.leads:
            command = asked.command("leakage", *_words(config))
            records = leakage_records(results, dataset, config, asked.provenance(trained, dataset, command))
            if options.csv is not None:
                write_leakage(options.csv, records)
            say(describe(records))


def describe(records: list[LeakageRecord]) -> str:
    """The text that is printed: the numbers of Table 5, then unit by unit."""
    first = records[0]
    setting = first.setting
    slices = sum({record.case: record.slices for record in records}.values())
    averages, units = by_cutoff(records), by_unit(records)
    lines = [
        f"{setting.dataset} {setting.split}, protocol {setting.protocol}, {setting.mask} mask, "
        f"x{setting.acceleration:g} (realised x{first.sampled.realised_acceleration:.2f}): "
        f"{counted(first.cases, 'case')}, {counted(slices, 'slice')}, {counted(first.units, 'unit')}; "
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


def _measure(trained: Trained, dataset: SliceDataset, config: LeakageConfig, world: World) -> list[CaseLeakage]:
    model = trained.model.to(world.device)
    with told_progress("units", leads=world.leads) as tell:
        return measure_leakage(model, dataset, config, device=world.device, processes=world, on_progress=tell)


def _words(config: LeakageConfig) -> tuple[str, ...]:
    return ("--cutoff", *(f"{cutoff:g}" for cutoff in config.cutoffs), "--radius", config.radius)
