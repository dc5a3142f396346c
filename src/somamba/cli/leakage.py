"""``somamba leakage CHECKPOINT``: how much of the recurrent state and of its read-out is fast in space."""

from somamba.cli.measurement import asked_examination
from somamba.cli.output import say
from somamba.cli.parsers.leakage import parser
from somamba.cli.progress import told_progress
from somamba.data.slices import SliceDataset
from somamba.evaluation.leakage import CaseLeakage, LeakageConfig, leakage_rows, measure_leakage
from somamba.evaluation.leakage_rows import LeakageRow, by_cutoff, by_unit, write_leakage
from somamba.inference.trained import Trained, open_model
from somamba.runtime.processes import World, joined
from somamba.runtime.threads import use_threads


def main(arguments: list[str]) -> None:
    """Parse, measure (under ``torchrun`` together with the other processes), print, write."""
    options = parser().parse_args(arguments)
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
            say(describe(rows))
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


def _measure(trained: Trained, dataset: SliceDataset, config: LeakageConfig, world: World) -> list[CaseLeakage]:
    model = trained.model.to(world.device)
    with told_progress("units", leads=world.leads) as tell:
        return measure_leakage(model, dataset, config, device=world.device, processes=world, on_unit=tell)


def _words(config: LeakageConfig) -> tuple[str, ...]:
    return ("--cutoff", *(f"{cutoff:g}" for cutoff in config.cutoffs), "--radius", config.radius)
