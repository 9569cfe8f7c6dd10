"""What brokers themselves say that they are set to."""

from typing import cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from harness.cluster.plan import Plan
from harness.errors import ClusterError

_PATIENCE_S = 30


def described(plan: Plan) -> dict[str, ConfigEntry]:
    """Every setting of the first broker, asked on its direct listener.

    Raises ClusterError where it does not tell.
    """
    admin = AdminClient(
        {"bootstrap.servers": plan.direct(), "client.id": "harness", "log_level": 0}
    )
    asked = ConfigResource(ResourceType.BROKER, str(plan.brokers[0].id))
    try:
        found: dict[str, ConfigEntry] = admin.describe_configs([asked])[asked].result(_PATIENCE_S)
    except (KafkaException, TimeoutError) as error:
        raise ClusterError(f"the brokers did not tell their settings: {error}") from error
    return found


def defaults(plan: Plan) -> dict[str, str]:
    """What brokers are set to by nobody but their version. Raises ClusterError."""
    return {
        name: str(entry.value)
        for name, entry in sorted(described(plan).items())
        # Its types say ConfigSource; what the library gives is the number of one.
        if cast(int, entry.source) == ConfigSource.DEFAULT_CONFIG.value and not entry.is_sensitive
    }
