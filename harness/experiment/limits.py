"""What is promised of a group: each limit is a verdict of its own, whatever the members are."""

from dataclasses import dataclass, fields, replace
from typing import Any, Final

from harness.base.errors import BadInput

_MOST: Final = 10**12  # of records, or of seconds: what is judged, in ms, has to hold it


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the owner of a group promises; each that is given becomes a verdict.

    `standstill_s` is the longest that a partition may stand still, `repeats` and `lost` are the
    most records in the run, `out_of_order` those of a partition that one process processes after
    later ones, `drained_s` is the longest from the last heal to the end of the topic.
    """

    standstill_s: float | None = None
    repeats: int | None = None
    lost: int | None = None
    out_of_order: int | None = None
    drained_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 <= value <= _MOST:
                shown = f"{value:g}" if isinstance(value, float) else str(value)
                raise BadInput(f"[limits] {name} is {shown}: use a number from 0 to {_MOST}")

    @property
    def promised(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def over(self, others: "Limits") -> "Limits":
        """These, and of the others those that are not given here."""
        return replace(others, **self.promised)


LIMITS: Final = tuple(each.name for each in fields(Limits))
