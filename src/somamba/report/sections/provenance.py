"""The provenance of a page: measurements, trainings, commands, and the terms of use of the data."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml  # type: ignore[import-untyped]

from somamba.data.terms import TERMS
from somamba.report.learning import span
from somamba.report.names import DATASETS, method_name, place, run_name
from somamba.report.page.markup import Content, Html, element, joined
from somamba.report.page.records import record, with_mask
from somamba.report.runs import ComparableRuns
from somamba.report.sources import Sources, TrainedRun
from somamba.results.gallery import KeptCase, MethodFacts
from somamba.results.setting import Sampled, Setting


def provenance_section(sources: Sources, found: Sequence[ComparableRuns], *, made_by: Mapping[str, str]) -> Html:
    """Everything that says where the numbers and pictures of a page come from.

    Args:
        sources: What the page was made of.
        found: The evaluations among it.
        made_by: Command, version and commit that made the page.
    """
    parts: list[Html | None] = [*_measurements(sources.cases), *_unseen_measurements(found, sources.cases)]
    parts += [_training(run) for run in sources.runs]
    parts += [_commands(found, sources), _terms(found, sources)]
    parts.append(joined([element("h3", "This page"), record(made_by)]))
    return joined(parts)


def _measurements(cases: Iterable[KeptCase]) -> list[Html]:
    """One for each mask, with a picture of it."""
    groups: dict[tuple[str, ...], list[KeptCase]] = {}
    for case in cases:
        facts = case.facts
        where = facts.setting
        key = (where.dataset, where.split, where.protocol, facts.sampled.mask_digest)
        groups.setdefault(key, []).append(case)
    parts = []
    for group in groups.values():
        facts, mask = group[0].facts, group[0].measurement().mask
        prints = [joined([one.facts.case, " ", element("code", one.facts.data_fingerprint)]) for one in group]
        told = (
            _mask_record(facts.setting, facts.sampled, facts.sampled.mask_digest)
            | {"data fingerprints": joined(prints, ", "), "kept by": _code(f"somamba {facts.version}, {facts.commit}")}
            | (
                {}
                if len(mask) == 1
                else {"picture": f"of the first slice; every slice has a mask of its own ({len(mask)})"}
            )
        )
        title = f"Measurement: {place(facts.setting)}"
        parts.append(joined([element("h3", title), with_mask(mask[0], facts.setting.mask, told)]))
    return parts


def _unseen_measurements(found: Iterable[ComparableRuns], cases: Sequence[KeptCase]) -> list[Html]:
    """Masks of evaluations of which no slice was kept: there is no picture, but all that the records say."""
    seen = {case.facts.sampled.mask_digest for case in cases}
    parts = []
    for runs in found:
        first = runs.first
        digests = sorted({one.sampled.mask_digest for records in runs.entries.values() for one in records})
        if seen.issuperset(digests):
            continue
        seen.update(digests)
        digest = digests[0] if len(digests) == 1 else f"{digests[0]} and {len(digests) - 1} more, one for each case"
        told = _mask_record(first.setting, first.sampled, digest)
        parts.append(joined([element("h3", f"Measurement: {runs.title}"), record(told)]))
    return parts


def _mask_record(setting: Setting, sampled: Sampled, digest: str) -> dict[str, Content]:
    return {
        "mask": setting.mask,
        "mask digest": _code(digest),
        "acceleration": f"nominal ×{setting.acceleration:g}, realised ×{sampled.realised_acceleration:.4g}",
        "protocol": setting.protocol,
    }


def _training(run: TrainedRun) -> Html:
    config = run.config
    code, hardware = _mapping(config, "code"), _mapping(config, "hardware") or _mapping(config, "hands")
    versions = ", ".join(f"{name} {value}" for name, value in code.items() if name != "commit")
    data = [f"{config[name]} {word}" for name, word in _COUNTS.items() if name in config]
    facts: dict[str, Content] = {
        "when": span(run.events),
        "commit": _code(str(code["commit"])) if "commit" in code else "",
        "versions": versions,
        "machine": ", ".join(f"{name} {value}" for name, value in hardware.items()),
        "data": ", ".join(data),
        "mask digest": _code(str(digest)) if (digest := _mapping(config, "mask").get("digest")) else "",
    }
    return joined([element("h3", f"Training: {run_name(run.name)}"), record(facts), _folded("Recipe", run.recipe)])


_COUNTS = {"training_cases": "cases", "training_slices": "slices", "steps_per_epoch": "steps an epoch", "step": "steps"}


def _commands(found: Iterable[ComparableRuns], sources: Sources) -> Html | None:
    """The commands that measure it again; with a recipe if slices were kept without the run."""
    lines: dict[str, None] = {records[0].command: None for runs in found for records in runs.entries.values()}
    for more in (sources.leakage, sources.sweep, sources.costs):
        lines |= {record.command: None for record in more}
    methods: dict[tuple[str, str], MethodFacts] = {}
    for case in sources.cases:
        for method in case.methods:
            lines[method.facts.command] = None
            methods.setdefault((method.facts.label, method.facts.subject.weights), method.facts)
    if not lines:
        return None
    known = {run.recipe for run in sources.runs}
    recipes = [
        _folded(f"Recipe of {method_name(one.label)}, weights {one.subject.weights}", _yaml(one.recipe))
        for one in methods.values()
        if one.recipe and _yaml(one.recipe) not in known
    ]
    return joined([element("h3", "Commands"), element("pre", "\n".join(lines), class_="command"), *recipes])


def _terms(found: Iterable[ComparableRuns], sources: Sources) -> Html | None:
    names = {runs.first.setting.dataset for runs in found} | {case.facts.setting.dataset for case in sources.cases}
    known = [name for name in DATASETS if name in names and name in TERMS]
    if not known:
        return None
    lines: dict[str, Content] = {
        DATASETS[name]: f"{TERMS[name].citation}. Licence: {TERMS[name].licence}." for name in known
    }
    return joined([element("h3", "Data"), record(lines)])


def _folded(title: str, text: str) -> Html | None:
    return element("details", element("summary", title), element("pre", text)) if text else None


def _code(text: str) -> Html:
    return element("code", text)


def _mapping(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = config.get(name)
    return value if isinstance(value, Mapping) else {}


def _yaml(recipe: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(recipe), sort_keys=False, allow_unicode=True))
