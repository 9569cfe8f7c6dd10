"""Who a member is besides its id: what request logs say of clients, if they were on."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from harness.history.broker_log import CALL
from harness.history.coordinator_log import UUID

# Requests by which a member joins. Other requests say the same again.
CLIENT_CALLS: Final = re.compile(
    rb'requestApiKeyName\\*":\\*"(?:JOIN_GROUP|CONSUMER_GROUP_HEARTBEAT)\\*"'
)
MEMBER_ID: Final = re.compile(rb'memberId\\*":\\*"([^"\\]+)')
# A connection is called local address:port-remote address:port-number.
_CONNECTION: Final = re.compile(r"^.+?:\d+-\[?(?P<host>.+?)\]?:\d+-\d+(?:-\d+)?$")
_MADE_ID: Final = re.compile(rf"^(.*)-{UUID}$", re.DOTALL)


def made_of(member_id: str) -> str | None:
    """The client.id of which a coordinator made a member id; None where it made it of none."""
    found = _MADE_ID.match(member_id)
    return found[1] if found else None


@dataclass
class KnownClient:
    """What is known of the process behind a member id."""

    client_id: str | None = None
    host: str | None = None
    instance_id: str | None = None
    library: str | None = None
    place: str | None = None  # a pod or a file, where several processes share the client.id

    def learn(self, **known: str | None) -> None:
        for name, value in known.items():
            if value and getattr(self, name) is None:
                setattr(self, name, value)


def client_of(line: str) -> tuple[str | None, KnownClient]:
    """The member and its client from a line of a request log, JSON lines and prefixes included.

    Raises one of broker_log.UNREADABLE where it is not whole.
    """
    _, found, body = line.partition(CALL)
    if not found:
        raise ValueError("no completed request")
    if body.startswith('{\\"'):  # it is a text within JSON
        body = body.replace('\\"', '"').replace("\\\\", "\\")
    call: Any = json.JSONDecoder().raw_decode(body)[0]
    request, answer = call["request"], call["response"]
    about = call.get("clientInformation") or {}
    where = _CONNECTION.match(call.get("connection") or "")
    names = [about.get("softwareName"), about.get("softwareVersion")]
    member_id = request.get("memberId") or answer.get("memberId")
    return member_id, KnownClient(
        client_id=call["requestHeader"].get("clientId"),
        host=where["host"] if where else None,
        instance_id=request.get("groupInstanceId") or request.get("instanceId"),
        library=" ".join(filter(None, names)) or None,
    )
