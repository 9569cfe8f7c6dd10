"""From the logged reason of a rebalance or departure to its cause, and whom it names."""

import re
from typing import Final

from harness.history.broker_log import wordings
from harness.history.coordinator_log import UUID

# What a reason shows, by what is asked of it: the first that it has.
_TEXTS: Final = r"""
leave max_poll: (?i)poll timeout has expired
leave closed: (?i)being closed|normal operation|clos(?:e|ing)\b|shut ?down
leave unsubscribed: (?i)unsubscribed
leave removed_by_admin: (?i)removed by an admin
rejoin connect: connect worker requested|its configuration did not match
rejoin cooperative: need to revoke partitions|after revoking what we lost
rejoin metadata: cached metadata has changed
rejoin subscription: subscription has changed|does not match the current subscript
rejoin enforced: rebalance enforced|followup rebalance|probing rebalance|corrupted
rejoin interrupted: already rebalancing|rebalance failed due to|encountered \S+ from
cause session_expired: heartbeat expiration
cause sync_expired: pending sync request expiration
cause over_capacity: ^Freshly-loaded group
cause store_failed: ^[Ee]rror .*when storing group assignment
cause assignor: selectedProtocol will change
cause static_changed: ^Updating metadata for static member
cause joined: ^Adding new member
cause converted: ^Downgrade group
trigger join: ^Adding new member
trigger expiry: heartbeat expiration
trigger leave: LeaveGroup
trigger rejoin: (?i)rejoin|re-join|updating metadata
"""
_PATTERNS: Final = [(name.split(), re.compile(text)) for name, text in wordings(_TEXTS, {})]
_CLIENT_REASON: Final = re.compile(r"client reason: (.*?)\.?$")
_REJOINING: Final = re.compile(
    r"^(?:[Ll]eader .* re-joining|Updating metadata for member|Member .* (?:is )?joining) ?"
)
# Who a reason names: a member id, which may have blanks and brackets.
_SAID: Final = r"(?:; client reason: .*)?\.?$"
_NAMED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^Adding new member (.+?)(?: with group instance ?id (?P<instance>.*?))?{_SAID}",
        r"^[Rr]emoving member (.+?) on (?:LeaveGroup|heartbeat expiration)",
        rf"^Updating metadata for static member (.+?) with instance id (?P<instance>.*?){_SAID}",
        r"static member (.+?) with instance id (?P<instance>.*?) joined",
        rf"^Updating metadata for member (.+?)(?: during \w+)?{_SAID}",
        r"^[Ll]eader (.+?) re-joining ",
        r"^Member (.+?) (?:is )?joining group ",
        r"\(member: (.+?)\)\.?$",
    )
)
_EACH: Final = re.compile(rf"(.*?{UUID}|[^,]+)(?:, |$)")  # of a list
_LISTED: Final = re.compile(
    r"^(?:Removing (?:\[|\w*Set\()(?P<sync>.*)[\])] on|"
    r"explicit `LeaveGroup` request for \((?P<leave>.*)\) members)"
)


def _first(asked: str, reason: str, otherwise: str) -> str:
    found = (name for (of, name), pattern in _PATTERNS if of == asked and pattern.search(reason))
    return next(found, otherwise)


def trigger_of(reason: str) -> str:
    """Of a classic rebalance, as `trigger` in the table of a run."""
    return _first("trigger", reason, "other")


def of_leave(client_reason: str | None) -> str:
    return _first("leave", client_reason or "", "left")


def of_rejoin(said: str) -> str:
    return _first("rejoin", said, "rejoined")


def of_reason(reason: str) -> str:
    """Why a classic rebalance began, by the reason in its line; leaves without what was said."""
    if "LeaveGroup" in reason:
        return of_leave(client_reason(reason))
    if _REJOINING.match(reason):
        return of_rejoin(client_reason(reason) or "")
    return _first("cause", reason, "unknown")


def client_reason(reason: str) -> str | None:
    """What a client said, in a reason; None where it said nothing."""
    found = _CLIENT_REASON.search(reason)
    return found[1] if found and found[1] != "not provided" else None


def named_in(reason: str) -> tuple[tuple[str, ...], str | None]:
    """The member ids that a reason names, and the instance id if it names one."""
    if listed := _LISTED.match(reason):
        return tuple(_EACH.findall(listed["sync"] or listed["leave"] or "")), None
    for pattern in _NAMED:
        if match := pattern.search(reason):
            instance = match.groupdict().get("instance") or ""
            instance = instance.removeprefix("Some(").removesuffix(")")
            return (match[1],), None if instance in ("null", "None", "") else instance
    return (), None
