"""How far some work is, for whatever shows it."""

from collections.abc import Callable

# Hears what is being done, how much of it is done, and of how much; 0 where that is not counted.
Steps = Callable[[str, int, int], None]


def unheard(_what: str, _done: int, _of: int) -> None:
    """Show nothing."""
