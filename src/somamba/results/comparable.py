"""When results may be compared: the same cases of the same data, measured through the same masks. No torch.

This is the one definition. Tables, statistics, leakage and pages all use it, because results of different measurements
cannot be ranked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from somamba.errors import InputError
from somamba.results.averages import grouped
from somamba.results.setting import CaseRecord, CaseRow, Evaluation, Setting


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What the methods of a comparison must have in common."""

    setting: Setting
    masks: frozenset[tuple[str, str]] = frozenset()
    """Every case with the digest of its mask."""
    more: tuple[tuple[str, object], ...] = ()
    """Further conditions by name, such as the cutoffs of leakage."""

    def differences(self, other: "Conditions") -> list[str]:
        """Names of what is not the same."""
        one, two = ({**vars(side.setting), **dict(side.more)} for side in (self, other))
        found = [name for name in {**one, **two} if one.get(name) != two.get(name)]
        mine, others = ({case for case, _ in one.masks} for one in (self, other))
        if alone := sorted(mine ^ others):
            found.append(f"cases ({', '.join(alone[:3])}{', ...' if alone[3:] else ''} in one of them only)")
        elif self.masks != other.masks:
            found.append(f"the mask of {min(case for case, _ in self.masks ^ other.masks)}")
        return found


def conditions(records: Iterable[CaseRecord], **more: object) -> Conditions:
    """The conditions of one evaluation.

    Args:
        records: Records of the evaluation, at least one.
        more: Further conditions by name.
    """
    known = list(records)
    masks = frozenset((record.case, record.sampled.mask_digest) for record in known)
    return Conditions(setting=known[0].setting, masks=masks, more=tuple(more.items()))


def check_comparable(evaluations: Iterable[tuple[str, Conditions]]) -> None:
    """Refuse evaluations, each given by the name of its method, that were measured under different conditions."""
    (first, wanted), *others = evaluations
    for other, found in others:
        if differ := wanted.differences(found):
            raise InputError(
                f"{first} and {other} cannot be compared: they differ in {', '.join(differ)}. Evaluate both alike, or "
                "show them apart."
            )


def comparable(evaluations: Mapping[Evaluation, Sequence[CaseRow]]) -> list[dict[Evaluation, Sequence[CaseRow]]]:
    """Evaluations sorted into groups that may be compared, in the order in which they come."""
    groups = grouped(evaluations.items(), lambda item: conditions(item[1]))
    return [dict(group) for group in groups.values()]
