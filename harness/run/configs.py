"""The configuration that each of our own programs is started with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from harness.cluster.plan import GROUP, OUTPUT, TOPIC, Plan
from harness.cluster.secured import HARNESS
from harness.experiment import Experiment, Group
from harness.provision import kafka
from harness.provision.java import aot_options
from harness.provision.tools import Tools
from harness.run.folder import SCRATCH

# What each client library calls the interval at which it asks for metadata.
_METADATA_REFRESH: Final = {
    "librdkafka": "topic.metadata.refresh.interval.ms",
    "java": "metadata.max.age.ms",
}
# What a program's configuration has from the experiment, by the same names.
_OF_A_GROUP: Final = (
    *("client", "protocol", "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms"),
    *("commit", "auto_commit_interval_ms", "batch_records", "process_us", "sabotage", "assignor"),
)
_OF_A_LOAD: Final = ("partitions", "records_per_s", "record_bytes", "acks", "idempotence")


@dataclass(frozen=True)
class Configs:
    experiment: Experiment
    plan: Plan
    tools: Tools
    run_dir: Path

    def journal(self, name: str) -> Path:
        return self.run_dir / "journals" / f"{name}.journal"

    def consumer(
        self, name: str, group: Group, lane: str, instance_id: str | None, *, joins_when_told: bool
    ) -> ConsumerConfig:
        other_jars = group.client_version and group.client == "java"
        refresh = {_METADATA_REFRESH[group.client]: str(group.metadata_refresh_ms)}
        return ConsumerConfig(
            **self._common(name, lane),
            **{field: getattr(group, field) for field in _OF_A_GROUP},
            role="consumer",
            group=GROUP,
            fetch_wait_max_ms=100,
            instance_id=instance_id,
            settings={**refresh, **group.settings},
            store=str(self.run_dir / SCRATCH / "store") if group.commit == "external" else None,
            output=OUTPUT if group.commit == "transaction" else None,
            java_home=self._java_home,
            class_path=(
                kafka.classpath(group.client_version) if other_jars else self.tools.kafka_classpath
            ),
            # Ignored with another version's class path, which it does not fit.
            jvm_options=list(aot_options(self.tools.client_aot)),
            joins_when_told=joins_when_told,
        )

    def producer(self, rounds: int) -> ProducerConfig:
        """Numbers of an app's records go round so many partitions."""
        load, app = self.experiment.load, self.experiment.app
        return ProducerConfig(
            **self._common("producer-1", "producers"),
            **{field: getattr(load, field) for field in _OF_A_LOAD},
            rounds=rounds,
            values=list(app.records.templates) if app is not None else [],
        )

    def probe(self, name: str) -> ProbeConfig:
        return ProbeConfig(
            **self._common(f"probe-{name}", "probes"),
            role="probe",
            probe=name,
            group=GROUP,
            direct=self.plan.direct(),
            direct_credentials=self.plan.credentials(HARNESS),
            java_home=self._java_home,
            class_path=self.tools.kafka_classpath,
            protocol=self.experiment.group.protocol,
        )

    def _common(self, name: str, lane: str) -> dict[str, Any]:
        return {
            "member": name,
            "run": self.plan.run,
            "topic": TOPIC,
            "journal": str(self.journal(name)),
            "bootstrap": self.plan.bootstrap(lane),
            "lane": lane,
            "credentials": self.plan.credentials(lane),
        }

    @property
    def _java_home(self) -> str:
        return str(self.tools.java.parent.parent)
