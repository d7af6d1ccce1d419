"""Pulsarcast: what the issue of eventual delivery and trust comes down to, in simulated networks."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hostile_pulsarcast import OTHER, TOPIC, hostile_nodes
from recording_host import RecordingHost

from treecast.checkers import check
from treecast.core import EventId, Host, NodeId
from treecast.protocols.pulsarcast.history import History
from treecast.protocols.pulsarcast.identity import simulated_identity
from treecast.protocols.pulsarcast.pulsarcast import Pulsarcast
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup
from treecast.sim import Result, Scenario, simulate
from treecast.sim.scenario import (
    Action,
    LatencyNetwork,
    Partition,
    Steady,
    TopicSetup,
    UniformNetwork,
)

NODES = 16
QUICK: dict[str, Any] = {
    "rpc_timeout_ms": 400.0,
    "join_timeout_ms": 500.0,
    "beat_ms": 1_000.0,
    "fetch_ms": 300.0,
    "request_timeout_ms": 2_000.0,
}


def scenario(
    protocol: str = "pulsarcast", *, settings: dict[str, Any] | None = None, **keys: Any
) -> Scenario:
    keys.setdefault("topics", (TopicSetup(name=TOPIC), TopicSetup(name=OTHER, subscribers=0.5)))
    window_ms = (4_000.0, 4_000.0)
    keys.setdefault(
        "workloads",
        (
            Steady(topic=TOPIC, every_ms=100, count=80, window_ms=window_ms),
            Steady(topic=OTHER, every_ms=400, count=20, window_ms=window_ms),
        ),
    )
    keys.setdefault("network", UniformNetwork(low_us=5_000, high_us=40_000, processing_us=0))
    return Scenario(
        name="pulsarcast",
        protocol=protocol,
        nodes=NODES,
        seed=keys.pop("seed", 3),
        settle_ms=keys.pop("settle_ms", 15_000),
        settings=PulsarcastSettings(**QUICK | (settings or {})),
        **keys,
    )


def rows(result: Result, kind: str, topic: str = TOPIC) -> list[dict[str, Any]]:
    assert result.journal is not None
    mine = pc.and_(
        pc.equal(result.journal["kind"].cast(pa.string()), kind),
        pc.fill_null(pc.equal(result.journal["topic"].cast(pa.string()), topic), False),
    )
    return result.journal.filter(mine).to_pylist()  # type: ignore[no-any-return]


def histories(result: Result) -> dict[NodeId, list[tuple[int, int]]]:
    """What each node delivered, in order."""
    found: dict[NodeId, list[tuple[int, int]]] = {}
    for row in rows(result, "deliver"):
        found.setdefault(row["node"], []).append((row["source"], row["sequence"]))
    return found


def published(result: Result) -> list[tuple[int, int]]:
    return [(row["source"], row["sequence"]) for row in rows(result, "publish")]


@contextmanager
def watched() -> Iterator[dict[NodeId, Pulsarcast]]:
    """The machines of the run, the last of each node."""
    machines: dict[NodeId, Pulsarcast] = {}

    def make(host: Host, node: NodeId, setup: Setup) -> Pulsarcast:
        machines[node] = Pulsarcast(host, node, setup)
        return machines[node]

    PROTOCOLS["watched"] = Entry(make, PulsarcastSettings, relays="anyone")
    try:
        yield machines
    finally:
        del PROTOCOLS["watched"]


# -- hostile peers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attack", "settings", "counted"),
    [
        ("wrong_hash", {}, "event refused: DescriptorError"),
        ("bad_signature", {}, "event refused: ForgeryError"),
        ("not_allowed", {"publishers": "author"}, "event refused: publisher not allowed"),
        ("foreign_link", {}, "event refused: of another topic"),
        ("foreign_event", {}, "event refused: of another topic"),
        ("replay", {}, "event: duplicate"),
    ],
)
def test_what_is_forged_reaches_nobody_and_is_counted(
    attack: str, settings: dict[str, Any], counted: str
) -> None:
    hostile = {5, 9, 14}
    with hostile_nodes(attack, hostile) as protocol:
        topics = (TopicSetup(name=TOPIC), TopicSetup(name=OTHER))
        result = simulate(scenario(protocol, settings=settings, topics=topics))
    assert result.journal is not None
    assert result.counts[counted] > 10, result.counts
    report = check(result.journal)
    honest = set(published(result))
    assert len(honest) == 80
    delivered = histories(result)
    for node in set(range(NODES)) - hostile:
        assert set(delivered[node]) == honest
        assert len(delivered[node]) == len(honest)
    assert report.ok, [violation.text for verdict in report.verdicts for violation in verdict.violations]


# -- eventual delivery ------------------------------------------------------------------


@pytest.mark.parametrize("publishers", ["anyone", "author"])
def test_a_node_that_was_offline_ends_with_the_complete_history(publishers: str) -> None:
    """Away for a quarter of the run, with the memory of what it had."""
    away = 7
    fault = Partition(side=(away,), window_ms=(6_000.0, 9_000.0))
    result = simulate(scenario(settings={"publishers": publishers}, faults=(fault,)))
    everything = set(published(result))
    delivered = histories(result)
    assert len(delivered) == NODES
    assert len(everything) >= 78, "what the node itself publishes meanwhile may wait for its way back"
    for history in delivered.values():
        assert len(history) == len(set(history))
        assert set(history) == everything
    assert result.counts["event: fetched from a neighbour"] > 0
    assert result.journal is not None
    assert check(result.journal).ok


def test_a_node_that_joins_at_the_end_rebuilds_the_topic_from_any_event_link_by_link() -> None:
    late = 15
    topics = (TopicSetup(name=TOPIC, subscribers=tuple(range(NODES - 1))),)
    workloads = (Steady(topic=TOPIC, every_ms=30, count=300, window_ms=(4_000.0, 4_000.0)),)
    actions = (Action(at_ms=20_000, node=late, do="subscribe", topic=TOPIC),)
    with watched() as machines:
        result = simulate(
            scenario(
                "watched", settings={"history": "all"}, topics=topics, workloads=workloads, actions=actions
            )
        )
    assert set(histories(result)[late]) == set(published(result))
    history = machines[late].trees.place(TOPIC).history
    assert len(history) == 300
    _walk_back(history)


def _walk_back(history: History) -> None:
    """From every event, by its own parent link alone, back to the first: hashes and names agree."""
    first = {cid for cid, record in history.records.items() if record.descriptor.parent is None}
    assert first, "some event is the first"
    reaches: set[bytes] = set(first)
    for cid in history.settled:  # causes first
        record = history.records[cid]
        assert record.descriptor.cid_bytes == cid
        if record.descriptor.parent is not None:
            assert record.descriptor.parent in record.parents
            assert record.descriptor.parent in reaches
        reaches.add(cid)
    assert reaches == set(history.records)


# -- requests to publish ----------------------------------------------------------------


def test_where_only_the_author_publishes_all_events_form_one_chain() -> None:
    with watched() as machines:
        result = simulate(scenario("watched", settings={"publishers": "author"}))
    chain = published(result)
    assert {source for source, _ in chain} == {0}, "the author"
    orders = {tuple(each) for each in histories(result).values()}
    assert orders == {tuple(chain)}, "everybody has the same order"
    records = machines[11].trees.place(TOPIC).history.records
    authors = Counter(record.descriptor.author for record in records.values())
    assert len(authors) > 8
    assert all(record.publisher == simulated_identity(0).peer for record in records.values())
    assert result.counts["accepted"] == 100


def test_a_request_that_nobody_can_grant_is_answered_with_a_reason() -> None:
    actions = (Action(at_ms=4_500, node=0, do="crash"),)
    topics = (TopicSetup(name=TOPIC),)
    workloads = (Steady(topic=TOPIC, every_ms=500, count=20, window_ms=(6_000.0, 6_000.0)),)
    result = simulate(
        scenario(settings={"publishers": "author"}, topics=topics, workloads=workloads, actions=actions)
    )
    assert result.events_published == 0
    given_up = sum(count for what, count in result.counts.items() if what.startswith("given up"))
    assert given_up + sum(result.inputs_skipped.values()) == 20


# -- trees ------------------------------------------------------------------------------


def test_the_topic_goes_on_when_its_author_has_died() -> None:
    actions = (Action(at_ms=6_000, node=0, do="crash"),)
    workloads = (Steady(topic=TOPIC, every_ms=200, count=80, window_ms=(4_000.0, 4_000.0)),)
    result = simulate(scenario(workloads=workloads, actions=actions))
    assert result.journal is not None
    report = check(result.journal)
    assert report.ok, [violation.text for verdict in report.verdicts for violation in verdict.violations]
    assert report.verdict("no orphans").checked > 12


def test_whoever_leaves_hands_its_children_on() -> None:
    leavers = range(1, NODES, 2)
    actions = tuple(
        Action(at_ms=5_000 + 150 * node, node=node, do="unsubscribe", topic=TOPIC) for node in leavers
    )
    workloads = (Steady(topic=TOPIC, every_ms=50, count=160, window_ms=(4_000.0, 4_000.0)),)
    topics, settings = (TopicSetup(name=TOPIC),), {"k": 2}
    result = simulate(scenario(topics=topics, workloads=workloads, actions=actions, settings=settings))
    assert result.messages["LEAVE"].sent > len(leavers)
    assert result.journal is not None
    report = check(result.journal)
    assert report.ok, [violation.text for verdict in report.verdicts for violation in verdict.violations]
    assert "parent lost" not in result.counts


def test_links_are_the_topics_and_every_node_has_one_place() -> None:
    result = simulate(scenario(network=LatencyNetwork(delay_us=100_000, jitter_us=60_000)))
    assert result.journal is not None
    report = check(result.journal)
    assert report.ok
    assert report.verdict("no cycles").checked >= 16
    assert result.messages["PUB"].sent == result.events_delivered - result.events_published + (
        result.counts.get("event: duplicate", 0) + _forwarded(result)
    )


def _forwarded(result: Result) -> int:
    """PUBs that came to nodes which are not subscribed."""
    assert result.journal is not None
    rows = result.journal.to_pylist()
    subscribed = {(row["node"], row["topic"]) for row in rows if row["kind"] == "subscribe"}
    return sum(
        row["kind"] == "receive" and row["message"] == "PUB" and (row["node"], row["topic"]) not in subscribed
        for row in rows
    )


def test_custom_links_are_the_applications() -> None:

    host = RecordingHost()
    setup = Setup(tuple(range(4)), {TOPIC: (0,)}, PulsarcastSettings(linking="custom"))
    machine = Pulsarcast(host, 0, setup)
    machine.start()
    machine.publish(TOPIC, b"one")
    history = machine.trees.place(TOPIC).history
    (first,) = history.settled
    machine.publish_after(TOPIC, b"two", None)
    machine.publish_after(TOPIC, b"three", first)
    payloads = {record.descriptor.payload: record.descriptor.parent for record in history.records.values()}
    assert payloads == {b"one": None, b"two": None, b"three": first}
    assert host.publications[2].parents == {EventId(0, 1), EventId(0, 2)}, "the causal barrier besides"
