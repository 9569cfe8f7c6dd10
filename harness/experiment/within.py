"""How far an expected violation may go: by whom, how often, and how far outside the bounds."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from harness.base.errors import BadInput

# What stands for whom the faults of a kind hit: {freeze-consumer}.
_HIT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Within:
    """What a violation has to be like to be the expected one; what is not said is not limited.

    `by` is how its sentence begins, which is its subject and its clause: `member-2` fits
    "member-2 (stall), was evicted", and not member-20. `*` stands for anything, and
    `{freeze-consumer}` for each member or broker that a fault of this kind hit. `at_most` is how
    often, `up_to` how far outside its bounds, in the rule's unit: a violation of which that was
    not measured is beyond it.
    """

    by: str = ""
    at_most: int | None = None
    up_to: float | None = None

    def __bool__(self) -> bool:
        return self != Within()

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(_HIT.findall(self.by))

    def check(self, rule: str) -> None:
        """Refuse limits that allow nothing. Raises BadInput naming the rule they are of."""
        for name, value, kinds, like in (
            ("by", self.by, str, '"member-1"'),
            ("at_most", self.at_most, int | None, "2"),
            ("up_to", self.up_to, int | float | None, "1_500"),
        ):
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise BadInput(
                    f"rule {rule} has {name}={value!r}, which is no such limit: write {name}={like}"
                )
        if self.by != self.by.strip() or set("{}") & set(_HIT.sub("", self.by)):
            raise BadInput(
                f"rule {rule} has by={self.by!r}, which begins no sentence: leave out blanks at "
                "its ends, and write kinds of faults as in {freeze-consumer}"
            )
        if self.at_most is not None and self.at_most < 1:
            raise BadInput(
                f"rule {rule} is expected to be violated at_most={self.at_most} times: use 1 or "
                "more, or expect it to hold"
            )
        if self.up_to is not None and not 0 < self.up_to < inf:
            raise BadInput(
                f"rule {rule} is expected to be violated up_to={self.up_to:g}: use more than 0, "
                "in the unit of the rule, or leave it out"
            )

    def is_by(self, sentence: str, hit: Mapping[str, Iterable[str]]) -> bool:
        """Whether such a violation begins like this; `hit` is whom faults hit, by their kinds."""
        if not self.by:
            return True
        parts = [_pattern(part, hit) for part in re.split(r"(\*|\{[^{}]*\})", self.by)]
        return re.match(rf"{''.join(parts)}(?!\w)", sentence, re.DOTALL) is not None

    def in_words(self, unit: str, hit: Mapping[str, Iterable[str]] | None = None) -> str:
        """The limits, with whom faults hit in place of their kinds where that is known."""
        by = self.by
        if hit is not None:
            by = _HIT.sub(lambda kind: " or ".join(hit.get(kind[1], ())) or "no member", by)
        parts = [f'by "{by}"'] if by else []
        if self.at_most is not None:
            parts.append("once" if self.at_most == 1 else f"at most {self.at_most:,} times")
        if self.up_to is not None:
            far = f"{self.up_to:,g} {unit}".strip()
            parts.append(f"at most {far} outside the bounds")
        return ", ".join(parts)


def _pattern(part: str, hit: Mapping[str, Iterable[str]]) -> str:
    if part == "*":
        return ".*"
    if not part.startswith("{"):
        return re.escape(part)
    names = "|".join(re.escape(name) for name in hit.get(part[1:-1], ()))
    return rf"(?<!\w)(?:{names or '(?!)'})(?!\w)"  # no member was hit: match nothing
