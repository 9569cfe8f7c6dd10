"""When each fault began and ended, what it broke, and which took a broker from the others."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from harness.history.effects import OF_OLD_JOURNALS, Breaks, Effects

_PROPERTIES: Final = tuple(each.name for each in fields(Effects))
_TEXTS: Final = ("breaks", "proof")


def fault_windows() -> str:
    """One row per fault: when each of its phases began, whether it took effect, what it broke.

    The columns of the latter are those of `effects.Effects`, of what the fault really hit: no
    broker is gone with a controller, and a group does not notice a controller that is.
    """
    return f"""
        WITH known AS (SELECT * FROM VALUES {", ".join(_known())} AS k(kind, how, {_NAMES})),
        windows AS (
            SELECT fault, any_value(kind) AS kind, any_value(target) AS target,
                   max(resolved) AS resolved, max(parameters) AS parameters,
                   min(at) FILTER (WHERE phase = 'planned') AS planned_at,
                   min(at) FILTER (WHERE phase = 'injecting') AS injecting_at,
                   min(at) FILTER (WHERE phase = 'injected') AS injected_at,
                   min(at) FILTER (WHERE phase = 'healing') AS healing_at,
                   min(at) FILTER (WHERE phase = 'healed') AS healed_at,
                   min(at) FILTER (WHERE phase = 'failed') AS failed_at,
                   bool_and(took_effect) FILTER (WHERE phase = 'injected') AS took_effect,
                   max(evidence) FILTER (WHERE phase IN ('injected', 'failed')) AS evidence
            FROM {{faults}} GROUP BY fault
        ), described AS (
            SELECT w.*, {", ".join(_property(name) for name in _PROPERTIES)}
            FROM windows w LEFT JOIN known k
              ON k.kind = w.kind AND k.how = coalesce(get_json_object(w.parameters, '$.how'), '')
        )
        SELECT fault, kind, target, resolved, parameters, planned_at, injecting_at, injected_at,
               healing_at, healed_at, failed_at, took_effect, evidence,
               {", ".join(name for name in _PROPERTIES if name not in _OF_NODES)},
               broker_gone AND resolved LIKE 'broker-%' AS broker_gone,
               below_limits OR breaks = '{Breaks.BROKER}' AND resolved LIKE 'controller-%'
                   AS below_limits
        FROM described
    """


_NAMES: Final = ", ".join(_PROPERTIES)
_OF_NODES: Final = ("broker_gone", "below_limits")  # depend on the node that was hit


def _known() -> Iterator[str]:
    """The effects of kinds whose journals did not have them, as rows; '' is the default way."""
    for kind, ways in OF_OLD_JOURNALS.items():
        for how, effects in {"": next(iter(ways.values())), **ways}.items():
            values = [getattr(effects, name) for name in _PROPERTIES]
            texts = [f"'{each}'" for each in (kind, how)]
            texts += [
                str(each).lower() if isinstance(each, bool) else f"'{each}'" for each in values
            ]
            yield f"({', '.join(texts)})"


def _property(name: str) -> str:
    """A property as the journal has it, else as it is known of the kind, else none."""
    found = f"get_json_object(w.parameters, '$.effects.{name}')"
    if name in _TEXTS:
        return f"coalesce({found}, k.{name}, '') AS {name}"
    return f"coalesce(CAST({found} AS BOOLEAN), k.{name}, false) AS {name}"


def broker_faults() -> str:
    """The fault windows in which a broker was gone for the others: dead, paused, or cut off."""
    return "SELECT * FROM {fault_windows} WHERE broker_gone"
