"""The configuration that each of our own programs is started with."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from harness.cluster.plan import GROUP, OUTPUT, TOPIC, Plan
from harness.cluster.secured import HARNESS
from harness.experiment import Experiment, Group
from harness.provision import kafka
from harness.provision.jvm import aot_options
from harness.provision.tools import Tools
from harness.run.folder import SCRATCH

# What each client library calls the interval at which it asks for metadata.
_METADATA_REFRESH: Final = {
    "librdkafka": "topic.metadata.refresh.interval.ms",
    "java": "metadata.max.age.ms",
}


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
        return ConsumerConfig(
            role="consumer",
            member=name,
            run=self.plan.run,
            group=GROUP,
            topic=TOPIC,
            journal=str(self.journal(name)),
            bootstrap=self.plan.bootstrap(lane),
            lane=lane,
            credentials=self.plan.credentials(lane),
            client=group.client,
            protocol=group.protocol,
            session_timeout_ms=group.session_timeout_ms,
            heartbeat_interval_ms=group.heartbeat_interval_ms,
            max_poll_interval_ms=group.max_poll_interval_ms,
            commit=group.commit,
            auto_commit_interval_ms=group.auto_commit_interval_ms,
            batch_records=group.batch_records,
            process_us=group.process_us,
            sabotage=group.sabotage,
            fetch_wait_max_ms=100,
            assignor=group.assignor,
            instance_id=instance_id,
            settings={
                _METADATA_REFRESH[group.client]: str(group.metadata_refresh_ms),
                **group.settings,
            },
            store=str(self.run_dir / SCRATCH / "store") if group.commit == "external" else None,
            output=OUTPUT if group.commit == "transaction" else None,
            java_home=self._java_home,
            class_path=(
                kafka.classpath(group.client_version)
                if group.client_version and group.client == "java"
                else self.tools.kafka_classpath
            ),
            # Ignored with another version's class path, which it does not fit.
            jvm_options=list(aot_options(self.tools.client_aot)),
            joins_when_told=joins_when_told,
        )

    def producer(self, rounds: int) -> ProducerConfig:
        """Numbers of an app's records go round so many partitions."""
        load, app = self.experiment.load, self.experiment.app
        return ProducerConfig(
            member="producer-1",
            run=self.plan.run,
            topic=TOPIC,
            journal=str(self.journal("producer-1")),
            bootstrap=self.plan.bootstrap("producers"),
            lane="producers",
            credentials=self.plan.credentials("producers"),
            partitions=load.partitions,
            rounds=rounds,
            records_per_s=load.records_per_s,
            record_bytes=load.record_bytes,
            acks=load.acks,
            idempotence=load.idempotence,
            values=list(app.records.templates) if app is not None else [],
            message_timeout_ms=120_000,
        )

    def probe(self, name: str) -> ProbeConfig:
        group = self.experiment.group
        return ProbeConfig(
            role="probe",
            member=f"probe-{name}",
            probe=name,
            run=self.plan.run,
            group=GROUP,
            topic=TOPIC,
            journal=str(self.journal(f"probe-{name}")),
            bootstrap=self.plan.bootstrap("probes"),
            direct=self.plan.direct(),
            direct_credentials=self.plan.credentials(HARNESS),
            lane="probes",
            credentials=self.plan.credentials("probes"),
            java_home=self._java_home,
            class_path=self.tools.kafka_classpath,
            partitions=self.experiment.load.partitions,
            session_timeout_ms=group.session_timeout_ms,
            max_poll_interval_ms=group.max_poll_interval_ms,
            protocol=group.protocol,
        )

    @property
    def _java_home(self) -> str:
        return str(self.tools.java.parent.parent)
