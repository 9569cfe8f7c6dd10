"""From the logged reason of a rebalance or departure to its cause, and whom it names."""

import re
from typing import Final

from harness.history.coordinator_log import UUID

_LEAVES: Final = (
    ("max_poll", re.compile(r"poll timeout has expired", re.IGNORECASE)),
    (
        "closed",
        re.compile(r"being closed|normal operation|clos(?:e|ing)\b|shut ?down", re.IGNORECASE),
    ),
    ("unsubscribed", re.compile(r"unsubscribed", re.IGNORECASE)),
    ("removed_by_admin", re.compile(r"removed by an admin", re.IGNORECASE)),
)
_REJOINS: Final = (
    ("connect", re.compile(r"connect worker requested|its configuration did not match")),
    ("cooperative", re.compile(r"need to revoke partitions|after revoking what we lost")),
    ("metadata", re.compile(r"cached metadata has changed")),
    ("subscription", re.compile(r"subscription has changed|does not match the current subscript")),
    ("enforced", re.compile(r"rebalance enforced|followup rebalance|probing rebalance|corrupted")),
    (
        "interrupted",
        re.compile(r"already rebalancing|rebalance failed due to|encountered \S+ from"),
    ),
)
_REASONS: Final = (
    ("session_expired", re.compile(r"heartbeat expiration")),
    ("sync_expired", re.compile(r"pending sync request expiration")),
    ("over_capacity", re.compile(r"^Freshly-loaded group")),
    ("store_failed", re.compile(r"^[Ee]rror .*when storing group assignment")),
    ("assignor", re.compile(r"selectedProtocol will change")),
    ("static_changed", re.compile(r"^Updating metadata for static member")),
    ("joined", re.compile(r"^Adding new member")),
    ("converted", re.compile(r"^Downgrade group")),
)
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


def of_leave(client_reason: str | None) -> str:
    said = client_reason or ""
    return next((name for name, pattern in _LEAVES if pattern.search(said)), "left")


def of_rejoin(said: str) -> str:
    return next((name for name, pattern in _REJOINS if pattern.search(said)), "rejoined")


def of_reason(reason: str) -> str:
    """Why a classic rebalance began, by the reason in its line; leaves without what was said."""
    if "LeaveGroup" in reason:
        return of_leave(client_reason(reason))
    if _REJOINING.match(reason):
        return of_rejoin(client_reason(reason) or "")
    return next((name for name, pattern in _REASONS if pattern.search(reason)), "unknown")


def client_reason(reason: str) -> str | None:
    """What a client said, in a reason; None where it said nothing."""
    found = _CLIENT_REASON.search(reason)
    return found[1] if found and found[1] != "not provided" else None


def named_in(reason: str) -> tuple[tuple[str, ...], str | None]:
    """The member ids that a reason names, and the instance id if it names one."""
    if listed := _LISTED.match(reason):
        found = listed["sync"] if listed["sync"] is not None else listed["leave"]
        return tuple(_EACH.findall(found)), None
    for pattern in _NAMED:
        if match := pattern.search(reason):
            instance = match.groupdict().get("instance")
            if instance is not None:
                instance = instance.removeprefix("Some(").removesuffix(")")
            return (match[1],), None if instance in (None, "null", "None", "") else instance
    return (), None
