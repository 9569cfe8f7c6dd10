"""What came of a call of the admin client, for all that it was asked about."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from harness.base.errors import ClusterError
from harness.base.ports import Ports
from harness.cluster.admin import answers
from harness.cluster.plan import Plan, draw_plan
from harness.experiment import Cluster


@pytest.fixture
def plan() -> Iterator[Plan]:
    with Ports() as ports:
        yield draw_plan(Cluster(brokers=1), ("members",), "run", ports)


def came_to(outcome: object) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return future


def test_all_that_was_asked_about_is_answered(plan: Plan) -> None:
    asked = {"a": came_to(1), "b": came_to(None)}
    assert [1, None] == answers(plan, lambda _admin: asked, "nothing worked")


@pytest.mark.parametrize("failure", [KafkaException(KafkaError(31, "denied")), TimeoutError("31")])
def test_what_failed_says_what_and_why(plan: Plan, failure: Exception) -> None:
    asked = {"a": came_to(1), "b": came_to(failure)}
    with pytest.raises(ClusterError, match=r"^the ACLs could not be created: .*31"):
        answers(plan, lambda _admin: asked, "the ACLs could not be created")
