"""When each fault began and ended, and which of them took a broker from the others."""

from __future__ import annotations

from harness.tables.base import Tables
from harness.tables.engines.base import Frame


def fault_windows(t: Tables) -> Frame:
    """One row per fault: when each of its phases began, and whether it took effect."""
    return t.sql(
        """
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
        FROM {faults} GROUP BY fault
        """
    )


def broker_faults(t: Tables) -> Frame:
    """The fault windows in which a broker was gone for the others: dead, paused, or cut off."""
    return t.sql(
        """
        SELECT * FROM {fault_windows}
        WHERE resolved LIKE 'broker-%'
          AND (kind IN ('kill-broker', 'pause-broker', 'stop-broker')
               OR kind = 'isolate-broker'
                  AND coalesce(get_json_object(parameters, '$.how'), 'peers') = 'peers')
        """
    )
