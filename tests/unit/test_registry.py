"""Experiments by name, their settings, and everything that is refused before anything runs."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import experiments
from harness.base.errors import BadInput
from harness.catalogue import registry
from harness.catalogue.refusals import check_together
from harness.cluster.plan import broker_settings
from harness.experiment import UNSET, Cluster, Expect, Experiment, Fault, Group, Verdict
from harness.rules import RULES
from harness.run.faults import KINDS

RULE = Expect(rule="R02")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_says_its_claim_why_and_what_to_watch(name: str) -> None:
    experiment = registry.load(name)

    assert experiment.claim.endswith(".")
    assert "Why:" in registry.describe(name)
    assert "Watch:" in registry.describe(name)


@pytest.mark.parametrize("name", registry.names())
def test_every_experiment_only_declares(name: str) -> None:
    """A docstring, imports of the declaring names, one value: no functions, no I/O."""
    file = Path(experiments.__path__[0]) / f"{name.replace('-', '_')}.py"
    tree = ast.parse(file.read_text())

    assert [ast.Expr, ast.ImportFrom, ast.Assign] == [type(node) for node in tree.body]


def test_every_kind_of_fault_is_exercised() -> None:
    used = {fault.kind for name in registry.names() for fault in registry.load(name).faults}

    assert set(KINDS) == used


def test_an_unknown_experiment_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="did you mean 'broker-kill'"):
        registry.load("brokerkill")


def test_an_unknown_setting_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(BadInput, match="did you mean 'members'"):
        registry.with_settings(registry.load("baseline"), {"member": "4"})


def test_a_setting_keeps_its_type() -> None:
    turned = registry.with_settings(registry.load("baseline"), {"group.members": "4"})

    assert 4 == turned.group.members
    with pytest.raises(BadInput, match="takes a whole number such as 4, not 'many'"):
        registry.with_settings(turned, {"group.members": "many"})


def test_a_whole_number_is_a_length_of_time_too() -> None:
    assert (
        7.5 == registry.with_settings(registry.load("baseline"), {"duration_s": "7.5"}).duration_s
    )


def test_settings_are_turned_together_whatever_their_order() -> None:
    settings = {
        "assignor": "cooperative-sticky",
        "session_timeout_ms": "90000",
        "heartbeat_interval_ms": "30000",
        "max_poll_interval_ms": "120000",
        "group.protocol": "cooperative",
    }
    for order in (settings, dict(reversed(settings.items()))):
        group = registry.with_settings(registry.load("baseline"), order).group
        assert ("cooperative-sticky", "cooperative") == (group.assignor, group.protocol)


def test_a_setting_that_is_turned_twice_is_refused() -> None:
    with pytest.raises(BadInput, match=r"group\.client is set twice, also as 'client'"):
        registry.with_settings(
            registry.load("baseline"), {"group.client": "java", "client": "java"}
        )


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("sabotage", "never-comit", "sabotage 'never-comit' is unknown: choose"),
        ("batch_records", "0", "batch_records of 0 is below 1"),
        ("process_us", "-1", "process_us of -1 is below 0"),
        ("heartbeat_interval_ms", "0", "heartbeat_interval_ms of 0 is below 1"),
        ("record_bytes", "7", "record_bytes of 7 is below 8"),
        ("duration_s", "-5", r"duration_s is -5\.0: use 0"),
        ("duration_s", "nan", "duration_s is nan: use 0"),
        ("duration_s", "soon", "takes a number such as 12, not 'soon'"),
    ],
)
def test_what_a_program_of_ours_would_refuse_is_refused_before_anything_starts(
    name: str, value: str, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(registry.with_settings(registry.load("baseline"), {name: value}))


def test_a_setting_that_makes_nonsense_is_refused_as_the_declaration_would_be() -> None:
    with pytest.raises(BadInput, match="outside the 6000 to 1800000"):
        registry.with_settings(registry.load("baseline"), {"session_timeout_ms": "5000"})


def experiment_with(fault: Fault, *rules: str, group: Group | None = None) -> Experiment:
    declared = tuple(Expect(rule=rule) for rule in rules) or (RULE,)
    return Experiment(claim="x.", faults=(fault,), rules=declared, group=group or Group())


@pytest.mark.parametrize(
    ("experiment", "says"),
    [
        (Experiment(claim="x."), "without rules cannot fail"),
        (
            Experiment(claim="x.", rules=(Expect(rule="R021"),)),
            r"there is no rule 'R021': did you mean \w+\? `python3 -m harness list --rules`",
        ),
        (experiment_with(Fault(kind="kill-brokers", target="controller")), "'kill-broker'"),
        (
            experiment_with(Fault(kind="kill-broker", target="broker 1")),
            "never heals: say in lasts_s",
        ),
        (
            experiment_with(Fault(kind="kill-consumer", target="member 1", lasts_s=3)),
            "cannot be undone: leave lasts_s=3 out",
        ),
        (
            experiment_with(Fault(kind="kill-broker", target="broker 4", lasts_s=3)),
            "the experiment has broker 1 to 3",
        ),
        (
            experiment_with(Fault(kind="kill-broker", target="leader of t-6", lasts_s=3)),
            "partitions 0 to 5",
        ),
        (experiment_with(Fault(kind="kill-broker", target="boss", lasts_s=3)), "is not a role"),
        (
            replace(
                experiment_with(Fault(kind="add-partitions", target="topic", more_partitions=2)),
                group=Group(commit="transaction"),
            ),
            "those copies would have nowhere to go",
        ),
        (
            replace(
                experiment_with(Fault(kind="kill-broker", target="controller", lasts_s=3)),
                cluster=Cluster(controllers=3),
            ),
            "could be any of 3, since the active one is not known: use controllers=1",
        ),
        (
            Experiment(
                claim="x.", rules=(RULE,), group=Group(client="java", client_version="1.2.3")
            ),
            "the Java client of Kafka 1.2.3 is too old: choose 2.5.0 or newer",
        ),
        (
            Experiment(claim="x.", rules=(RULE,), group=Group(client_version="2.x")),
            "confluent-kafka 2.x is not a release: write three numbers",
        ),
        (
            Experiment(
                claim="x.", rules=(RULE,), group=Group(protocol="consumer", client_version="2.3.0")
            ),
            "confluent-kafka 2.3.0 does not speak protocol consumer: choose 2.4.0 or newer",
        ),
        (
            Experiment(
                claim="x.",
                rules=(RULE,),
                group=Group(client="java", differing={2: {"client_version": "2.4.1"}}),
            ),
            "the Java client of Kafka 2.4.1 is too old",
        ),
        (
            Experiment(claim="x.", rules=(RULE,), cluster=Cluster(kafka_version="3.6.2")),
            "Kafka 3.6.2 is too old: choose 3.7.0 or newer",
        ),
        (
            Experiment(claim="x.", rules=(RULE,), cluster=Cluster(brokers=1)),
            "min_insync_replicas of 2 is more than brokers of 1 can hold",
        ),
        (
            replace(
                experiment_with(Fault(kind="kill-consumer", target="member 1")),
                group=Group(members=1),
            ),
            "1 member, 0 started and 1 ended by faults: no member is left",
        ),
        (
            Experiment(
                claim="x.", rules=(RULE,), group=Group(differing={4: {"process_us": 5_000}})
            ),
            "differing names member 4, and there are members 1 to 3",
        ),
        (
            Experiment(
                claim="x.", rules=(RULE,), group=Group(settings={"session.timeout.ms": "9000"})
            ),
            "'session.timeout.ms', which has a field of its own: use session_timeout_ms",
        ),
        (
            Experiment(
                claim="x.",
                rules=(RULE,),
                cluster=Cluster(settings={"group.coordinator.rebalance.protocols": "classic"}),
                group=Group(protocol="consumer"),
            ),
            "offer 'consumer' there, or leave the setting out",
        ),
        (
            Experiment(
                claim="x.",
                rules=(RULE,),
                cluster=Cluster(kafka_version="3.9.2"),
                group=Group(protocol="consumer"),
            ),
            "Kafka 3.9.2 has a preview of protocol consumer only, which librdkafka does not speak",
        ),
        (
            experiment_with(Fault(kind="kill-broker", target="member 1", lasts_s=3)),
            "kill-broker cannot hit 'member 1'",
        ),
        (
            experiment_with(Fault(kind="stall-consumer", target="member 1", lasts_s=5)),
            "the stall of 5 s ends before session_timeout_ms of 6 s",
        ),
        (
            experiment_with(
                Fault(kind="stall-consumer", target="member 1", lasts_s=7),
                "R07",
                group=Group(max_poll_interval_ms=8_000),
            ),
            "the stall of 7 s ends before max_poll_interval_ms of 8 s",
        ),
        (
            experiment_with(
                Fault(kind="stall-consumer", target="member 1", lasts_s=12),
                "R34",
                group=Group(max_poll_interval_ms=8_000),
            ),
            "passes max_poll_interval_ms of 8 s",
        ),
        (
            experiment_with(
                Fault(kind="bounce-consumer", target="member 1", lasts_s=2, how="close")
            ),
            "give the group static=True",
        ),
        (
            experiment_with(
                Fault(kind="bounce-consumer", target="member 1", lasts_s=2),
                group=Group(static=True),
            ),
            "choose close or kill",
        ),
        (
            experiment_with(
                Fault(kind="bounce-consumer", target="member 1", lasts_s=3, how="kill"),
                group=Group(static=True),
            ),
            "may be silent for 6.5 s",
        ),
        (
            experiment_with(Fault(kind="start-duplicate", target="member 1")),
            "give the group static=True",
        ),
        (
            experiment_with(
                Fault(kind="start-duplicate", target="member 1", how="close"),
                group=Group(static=True),
            ),
            "has no variant 'close': leave how='close' out",
        ),
        (
            experiment_with(
                Fault(kind="stall-callback", target="member 1", lasts_s=8),
                group=Group(max_poll_interval_ms=8_000),
            ),
            "does not pass max_poll_interval_ms of 8 s clearly",
        ),
        (
            experiment_with(
                Fault(kind="stall-callback", target="member 1", lasts_s=10),
                group=Group(max_poll_interval_ms=8_000),
            ),
            "nothing in the experiment starts one",
        ),
        (
            experiment_with(Fault(kind="latency", target="member 1", lasts_s=3, latency_ms=6_000)),
            "is not below session_timeout_ms of 6000",
        ),
        (
            experiment_with(Fault(kind="kill-consumer", target="member 1", how="in a transaction")),
            "its group commits by 'sync'",
        ),
        (
            experiment_with(Fault(kind="kill-consumer", target="member 1", how="kill")),
            "has no variant 'kill': use how='at once' or 'in a transaction', or leave how out",
        ),
        (
            experiment_with(
                Fault(kind="isolate-broker", target="any broker", lasts_s=3, how="peers")
            ),
            "all share loopback: use BACKEND=docker",
        ),
        (
            experiment_with(
                Fault(kind="isolate-broker", target="any broker", lasts_s=3, how="sideways")
            ),
            "has no variant 'sideways': use how='peers' or 'lanes'",
        ),
        (experiment_with(Fault(kind="add-partitions", target="topic")), "more_partitions of 1"),
        (
            replace(
                registry.load("add-partitions"),
                faults=2 * (Fault(kind="add-partitions", target="topic", more_partitions=1),),
            ),
            "comes 2 times: add all of them at once",
        ),
        (
            experiment_with(Fault(kind="add-partitions", target="member 1", more_partitions=2)),
            "cannot hit 'member 1': use topic",
        ),
        (
            experiment_with(
                Fault(kind="isolate", target="producers", lasts_s=3, of_broker="coordinator")
            ),
            "has no links to one broker only",
        ),
        (
            experiment_with(
                Fault(kind="isolate", target="member 1", lasts_s=3, of_broker="coordinate")
            ),
            "is not a role",
        ),
        (
            experiment_with(Fault(kind="bandwidth", target="member 1", lasts_s=3)),
            "bandwidth on member 1 needs a bandwidth_kb_per_s of 1 to 1500",
        ),
        (
            experiment_with(
                Fault(kind="bandwidth", target="member 1", lasts_s=3, bandwidth_kb_per_s=1_501)
            ),
            "could not be measured; it is 1501",
        ),
        (
            experiment_with(Fault(kind="latency", target="member 1", lasts_s=3, latency_ms=19)),
            "because 19 ms could not be measured",
        ),
        (
            experiment_with(Fault(kind="freeze-consumer", target="member 1", lasts_s=-3)),
            "lasts_s=-3: none can be negative",
        ),
        (
            replace(
                registry.load("consumer-freeze"),
                faults=(Fault(kind="freeze-consumer", target="member 1", lasts_s=6),),
            ),
            "for 6 s ends before session_timeout_ms of 6 s, so R01, R35, X23 would examine nothing",
        ),
        (
            replace(
                registry.load("member-isolated"),
                faults=(Fault(kind="isolate", target="member 1", lasts_s=5),),
            ),
            "ends before session_timeout_ms of 6 s, so R01",
        ),
        (
            experiment_with(Fault(kind="isolate", target="member 1", lasts_s=9, latency_ms=50)),
            "isolate of member 1 takes no latency_ms: leave latency_ms out",
        ),
        (
            experiment_with(
                Fault(kind="freeze-consumer", target="member 1", lasts_s=9, how="sideways")
            ),
            "has no variant 'sideways': leave how='sideways' out",
        ),
        (
            experiment_with(Fault(kind="kill-consumer", target="member 1", more_partitions=2)),
            "takes no more_partitions: leave more_partitions out",
        ),
        (
            experiment_with(Fault(kind="isolate", target="coordinator", lasts_s=9)),
            "cannot hit 'coordinator': use member <n>, any member or producers",
        ),
        (
            Experiment(
                claim="x.",
                rules=(RULE,),
                faults=(
                    Fault(kind="freeze-consumer", target="member 1", at_s=3, lasts_s=8),
                    Fault(kind="freeze-consumer", target="member 1", at_s=9, lasts_s=8),
                ),
            ),
            "freeze-consumer of member 1 at 9 s may begin before the one at 3 s has ended",
        ),
        (
            Experiment(
                claim="x.",
                rules=(RULE,),
                faults=(
                    Fault(kind="pause-broker", target="broker 2", at_s=3, lasts_s=8),
                    Fault(kind="kill-broker", target="broker 2", at_s=9, lasts_s=8),
                ),
            ),
            "kill-broker of broker 2 at 9 s may begin before pause-broker at 3 s has ended, at 13",
        ),
        (
            Experiment(claim="x.", rules=(Expect(rule="R01"),)),
            "no fault here causes a silence longer than session.timeout.ms, which R01 needs",
        ),
        (
            experiment_with(Fault(kind="start-consumer", target="new member"), "R07"),
            "no fault here causes a stall longer than max.poll.interval.ms, which R07 needs",
        ),
        (
            experiment_with(Fault(kind="delete-offsets", target="any broker")),
            "only the coordinator has the positions",
        ),
        (
            experiment_with(Fault(kind="delete-records", target="coordinator")),
            "say whose records, as in 'leader of t-0'",
        ),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    experiment: Experiment, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(experiment)


@pytest.mark.parametrize("backend", ["docker", "compose"])
def test_kafka_that_logs_otherwise_is_refused_in_containers(backend: str) -> None:
    def with_kafka(version: str, backend: str) -> Experiment:
        changed = {"cluster.kafka_version": version, "cluster.backend": backend}
        return registry.checked(registry.with_settings(registry.load("baseline"), changed))

    with pytest.raises(BadInput, match=r"choose KAFKA=4\.0\.0 or newer, or BACKEND=embedded$"):
        with_kafka("3.9.2", backend)
    assert backend == with_kafka("4.2.1", backend).cluster.backend
    only = replace(registry.load("split-brain-attempt"), cluster=Cluster(backend="docker"))
    with pytest.raises(BadInput, match=r"choose KAFKA=4\.0\.0 or newer$"):
        registry.checked(registry.with_settings(only, {"cluster.kafka_version": "3.9.2"}))
    assert "3.9.2" == with_kafka("3.9.2", "embedded").cluster.kafka_version


def test_a_member_that_is_started_later_may_differ_and_stands_in_for_one_that_ends() -> None:
    experiment = Experiment(
        claim="x.",
        rules=(RULE,),
        group=Group(members=1, differing={2: {"process_us": 5_000}}),
        faults=(
            Fault(kind="start-consumer", target="new member"),
            Fault(kind="kill-consumer", target="member 1"),
        ),
    )
    assert experiment == registry.checked(experiment)


def test_a_twin_of_a_good_experiment_passes() -> None:
    good = registry.load("broker-kill")

    assert good == registry.checked(replace(good))


def _expected(name: str, client: str, protocol: str, **group: Any) -> dict[str, Expect]:
    turned = registry.variant(registry.load(name), client, protocol)
    turned = replace(turned, group=replace(turned.group, **group))
    return {each.rule: each for each in registry.resolved(turned).rules}


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"by": "{kill-broker}"}, "names whom kill-broker hits, and the experiment has freeze-co"),
        ({"by": "{}"}, "names whom nothing hits"),
        ({"rule": "X42", "up_to": 5}, "X42 measures nothing that up_to=5 could limit: use by="),
    ],
)
def test_limits_that_no_violation_can_keep_are_refused(limits: dict[str, Any], says: str) -> None:
    experiment = registry.load("consumer-freeze")
    expected = {"rule": "R21-delivery", "verdict": Verdict.VIOLATED, "because": "it is so"}
    with pytest.raises(BadInput, match=says):
        registry.checked(replace(experiment, rules=(Expect(**{**expected, **limits}),)))


@pytest.mark.parametrize("commit", ["sync", "interval"])
def test_a_defect_that_any_run_may_show_is_as_expected(commit: str) -> None:
    expected = _expected("rolling-deploy", "librdkafka", "cooperative", commit=commit)["X01-kept"]

    assert expected.verdict is Verdict.VIOLATED
    assert expected.sometimes
    assert expected.if_seen
    assert "behind its own JoinGroup" in expected.because


@pytest.mark.parametrize(
    ("client", "protocol", "commit"),
    [
        ("java", "cooperative", "sync"),
        ("librdkafka", "eager", "sync"),
        ("librdkafka", "consumer", "sync"),
        ("librdkafka", "cooperative", "async"),
    ],
)
def test_who_does_not_have_the_defect_is_held_to_the_rule(
    client: str, protocol: str, commit: str
) -> None:
    assert "X01-kept" not in _expected("rolling-deploy", client, protocol, commit=commit)


def test_an_experiment_says_itself_what_it_expects_in_the_place_of_a_known_defect() -> None:
    holding = _expected("cooperative-join", "librdkafka", "cooperative")["X01-kept"]
    violated = _expected("join-blocked", "librdkafka", "cooperative")["X01-kept"]

    assert holding.verdict is Verdict.HOLDS
    assert violated.verdict is Verdict.VIOLATED
    assert not violated.sometimes


def test_the_experiment_that_is_printed_for_newcomers_can_be_played() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    module: dict[str, Any] = {}
    exec(text.split("```python\n")[1].split("```")[0], module)

    assert module["experiment"] == registry.resolved(registry.checked(module["experiment"]))


def test_the_table_of_experiments_has_each_with_its_claim() -> None:
    table = (ROOT / "docs" / "experiments.md").read_text()

    for name in registry.names():
        assert f"| `{name}` |" in table
        assert registry.load(name).claim in table


def test_the_table_of_faults_has_each_with_its_fields_and_ways() -> None:
    page = (ROOT / "docs" / "experiments.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ([^|]+\|[^|]*)\|$", page, re.MULTILINE))

    for name, kind in KINDS.items():
        fields = [*kind.takes, *(["lasts_s"] if kind.heals else [])]
        for name_ in (*fields, *filter(None, kind.ways)):
            assert f"`{name_}`" in rows[name], f"{name} has {name_}"


def test_the_readme_counts_experiments_and_rules() -> None:
    readme = (ROOT / "README.md").read_text()

    assert f"There are {len(registry.names())} experiments" in readme
    assert f"All {len(RULES)} rules" in readme


def test_what_is_left_to_a_library_s_default_is_not_declared_twice() -> None:
    group = Group(settings={"session.timeout.ms": UNSET})
    check_together(Experiment(claim="x.", rules=(RULE,), group=group))


def test_a_broker_setting_that_is_unset_is_left_to_kafka() -> None:
    delay = "group.initial.rebalance.delay.ms"
    assert delay in broker_settings(Cluster())
    assert delay not in broker_settings(Cluster(settings={delay: UNSET}))


def test_a_rule_may_be_given_by_its_name() -> None:
    given = ["session/silent-member-is-evicted", "R02", "R01"]

    assert ["R01", "R02"] == registry.rules_named(given)
    good = registry.load("consumer-crash")
    named = replace(good, rules=(Expect(rule=given[0]),))
    assert ["R01"] == [each.rule for each in registry.checked(named).rules]
