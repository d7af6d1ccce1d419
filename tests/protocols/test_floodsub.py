"""Floodsub: scripted calls, and floods in the simulator."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_host import Delivered, RecordingHost, Sent

from treecast.checkers import check
from treecast.core import Event, EventId, NotSubscribedError, Topic
from treecast.journal import journal_hash
from treecast.protocols.baselines.floodsub import Floodsub, FloodsubSettings, Subscriptions, connections
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Pub
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Action, Burst, Exchange, LatencyNetwork, TopicSetup

TOPIC, OTHER = Topic("t"), Topic("other")
NODES = tuple(range(8))


def node(*subscribed: int) -> tuple[RecordingHost, Floodsub]:
    host = RecordingHost()
    setup = Setup(NODES, {TOPIC: subscribed}, FloodsubSettings(connections=2, seen_ms=1_000))
    machine = Floodsub(host, 0, setup)
    machine.start()
    host.take()
    for neighbour in connections(NODES, 2)[0]:
        topics = (TOPIC,) if neighbour in subscribed else (OTHER,)
        machine.receive(neighbour, Subscriptions(EventId(neighbour, 1), topics, False))
    return host, machine


def event(publisher: int, sequence: int = 1) -> Event:
    return Event(EventId(publisher, sequence), TOPIC, frozenset(), b"")


@given(st.integers(2, 40), st.integers(1, 8))
def test_the_graph_is_whole_and_goes_both_ways(count: int, opened: int) -> None:
    graph = connections(tuple(range(count)), opened)
    assert all(one in graph[other] for one, others in graph.items() for other in others)
    assert all(node not in others for node, others in graph.items())
    assert all(len(others) >= min(opened, count - 1) for others in graph.values())
    reached = {0}
    for _ in graph:
        reached.update(other for one in tuple(reached) for other in graph[one])
    assert len(reached) == count


def test_an_event_goes_to_the_subscribed_neighbours_but_not_back() -> None:
    neighbours = connections(NODES, 2)[0]
    sender, publisher, third, unsubscribed = neighbours[:4]
    host, machine = node(0, *(each for each in neighbours if each != unsubscribed))
    machine.receive(sender, Pub(event(publisher)))
    done = host.take()
    assert done[0] == Delivered(event(publisher))
    to = [each.to for each in done if isinstance(each, Sent)]
    assert third in to
    assert not {sender, publisher, unsubscribed} & set(to)


def test_the_second_arrival_is_dropped_until_the_cache_has_forgotten() -> None:
    host, machine = node(*NODES)
    one, other = connections(NODES, 2)[0][:2]
    machine.receive(one, Pub(event(7)))
    host.take()
    host.clock_us = 999_000
    machine.receive(other, Pub(event(7)))
    assert not host.take()
    host.clock_us = 1_000_000
    machine.receive(other, Pub(event(7)))
    assert Delivered(event(7)) in host.take()


def test_later_tidings_count_whatever_order_they_come_in() -> None:
    host, machine = node(0)
    neighbour = connections(NODES, 2)[0][0]
    machine.receive(neighbour, Subscriptions(EventId(neighbour, 5), (TOPIC,), False))
    machine.receive(neighbour, Subscriptions(EventId(neighbour, 4), (), False))
    machine.publish(TOPIC, b"")
    assert [each.to for each in host.take() if isinstance(each, Sent)] == [neighbour]
    machine.receive(neighbour, Subscriptions(EventId(neighbour, 6), (), True))
    machine.publish(TOPIC, b"")
    (answer,) = [each.message for each in host.take() if isinstance(each, Sent)]
    assert isinstance(answer, Subscriptions)
    assert answer.topics == (TOPIC,)


def test_who_is_neither_subscribed_nor_registered_cannot_publish() -> None:
    _, machine = node()
    with pytest.raises(NotSubscribedError, match="neither subscribed nor registered"):
        machine.publish(TOPIC, b"")
    machine.register(TOPIC)
    machine.publish(TOPIC, b"")


@settings(max_examples=15)
@given(st.integers(0, 1_000))
def test_without_faults_everybody_has_every_event_and_engines_agree(seed: int) -> None:
    scenario = Scenario(
        name="flood",
        protocol="floodsub",
        nodes=20,
        seed=seed,
        network=LatencyNetwork(delay_us=20_000, jitter_us=15_000),
        settings=FloodsubSettings(connections=3),
        topics=(TopicSetup(name=TOPIC), TopicSetup(name=OTHER, subscribers=0.5)),
        workloads=(Burst(topic=TOPIC, publishers=4, count=3, window_ms=(100.0, 200.0)),),
        churns=(Exchange(topic=OTHER, leavers=3, window_ms=(50, 100)),),
        actions=(
            Action(at_ms=300, node=0, do="register", topic=OTHER),
            Action(at_ms=400, node=0, do="publish", topic=TOPIC),
        ),
    )
    first, second = (simulate(scenario, engine=engine) for engine in ("windowed", "event-order"))  # type: ignore[arg-type]
    assert first.journal is not None
    assert second.journal is not None
    assert journal_hash(first.journal) == journal_hash(second.journal)
    received = Counter(row["node"] for row in first.journal.to_pylist() if row["kind"] == "deliver")
    assert set(received.values()) == {13}
    report = check(first.journal)
    assert report.verdict("no duplicate").ok
    assert report.verdict("subscribers carry").ok
    assert report.verdict("no creation").ok
