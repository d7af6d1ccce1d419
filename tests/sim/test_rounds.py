"""Gossip rounds, messages that fail to arrive, nodes crashed from the start, nodes that others do not see."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from flood import FloodSettings, flood_registered
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import EventId, Host, Machine, NodeId, ScenarioError, Topic
from treecast.journal import hierarchy_of, journal_hash, promises_of
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Sub
from treecast.sim import Result, Scenario, parse_scenario, simulate
from treecast.sim.network import flight_us_min, make_link
from treecast.sim.scenario import (
    Action,
    Crashed,
    Fault,
    Once,
    RoundsNetwork,
    TopicSetup,
    UniformNetwork,
    Unseen,
)
from treecast.sim.workloads import initial_subscribers

TOPIC = Topic("t")
FOREVER = (0.0, 1e6)


@pytest.fixture(autouse=True)
def flood() -> Iterator[None]:
    with flood_registered():
        yield


def run(*faults: Fault, engine: Any = None, nodes: int = 8, **keys: Any) -> Result:
    keys.setdefault("network", RoundsNetwork())
    keys.setdefault("actions", (Action(at_ms=0, node=0, do="publish", topic=TOPIC),))
    return simulate(
        Scenario(
            name="rounds",
            protocol=keys.pop("protocol", "flood"),
            nodes=nodes,
            settings=keys.pop("settings", FloodSettings(chords=(1,))),
            topics=keys.pop("topics", (TopicSetup(name=TOPIC),)),
            faults=faults,
            **keys,
        ),
        engine=engine,
    )


def crashed_nodes(result: Result) -> set[int]:
    assert result.journal is not None
    return {row["node"] for row in result.journal.to_pylist() if row["kind"] == "crash"}


@given(st.integers(0, 10_000), st.integers(1, 500))
def test_what_is_sent_in_a_round_arrives_as_the_next_begins(now_us: int, round_us: int) -> None:
    network = RoundsNetwork(round_us=round_us)
    arrival_us = make_link(network, 0, 3).arrival_us(now_us, Sub(TOPIC, EventId(0, 1)))
    assert arrival_us % round_us == 0
    assert 0 < arrival_us - now_us <= round_us
    window = flight_us_min(network)
    assert arrival_us // window == now_us // window + 1, "no message arrives in the window it was sent in"


def test_a_hop_is_a_round() -> None:
    latency = run().reception_latency_ms
    assert (latency.count, latency.mean, latency.max) == (7, 4.0, 7.0)


@pytest.mark.parametrize("success", [0.85, 0.3])
def test_messages_arrive_with_the_networks_probability(success: float) -> None:
    settings = FloodSettings(beat_us=1_000)
    sent = received = 0
    for seed in range(3):
        network = RoundsNetwork(success=success)
        result = run(network=network, settings=settings, until_ms=400.5, seed=seed)
        thanks = result.messages["THANKS"]
        sent, received = sent + thanks.sent, received + thanks.received
    assert sent > 20_000
    assert received / sent == pytest.approx(success, abs=0.012)


def test_nodes_crashed_from_the_start_stay_subscribed_to_others() -> None:
    result = run(Crashed(nodes=(2,)))
    assert crashed_nodes(result) == {2}
    assert result.reception_latency_ms.count == 1, "only node 1: the ring is cut at node 2"
    (tally,) = result.faults
    assert (tally.counts["nodes_crashed"], tally.counts["messages_lost"]) == (1, 1)
    assert result.journal is not None
    rows = [row for row in result.journal.to_pylist() if row["node"] == 2]
    assert [(row["time_us"], row["kind"]) for row in rows] == [(0, "subscribe"), (0, "crash")]


def test_who_has_crashed_may_recover() -> None:
    again = Action(at_ms=0.5, node=2, do="recover")
    publish = Action(at_ms=1, node=0, do="publish", topic=TOPIC)
    result = run(Crashed(nodes=(2,)), actions=(again, publish))
    assert result.messages["WAVE"].received == 8, "the wave goes all around, by node 2's next life"


def test_publishers_may_be_spared() -> None:
    workload = Once(topic=TOPIC, publishers=3)
    for seed in range(10):
        spared = run(Crashed(nodes=0.9, publishers_stay=True), actions=(), workloads=(workload,), seed=seed)
        assert spared.events_published == 3
        assert len(crashed_nodes(spared)) < 7
    with pytest.raises(ScenarioError, match="no node had crashed: all that were drawn are publishers"):
        run(Crashed(nodes=4, publishers_stay=True), actions=(), workloads=(Once(topic=TOPIC),))


def test_each_sees_others_crashed_for_good() -> None:
    """Drawn once a pair: who does not see a node never reaches it, who sees it always does."""
    settings = FloodSettings(beat_us=1_000, chords=tuple(range(1, 40)))
    result = run(Unseen(share=0.3, window_ms=FOREVER), settings=settings, nodes=40, until_ms=9.5)
    assert result.journal is not None
    sent: Counter[tuple[int, int]] = Counter()
    received: Counter[tuple[int, int]] = Counter()
    for row in result.journal.to_pylist():
        if row["message"] == "THANKS" and row["topic"] == "beat" and row["time_us"] < 9_000:
            sent[row["node"], row["peer"]] += row["kind"] == "send"
            received[row["peer"], row["node"]] += row["kind"] == "receive"
    unseen = [pair for pair in sent if sent[pair] and not received[pair]]
    assert all(received[pair] >= sent[pair] - 1 for pair in sent if pair not in unseen)
    assert len(unseen) / len([pair for pair in sent if sent[pair]]) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("network", [RoundsNetwork(success=0.8), UniformNetwork()])
def test_both_engines_write_the_same_journal(network: Any) -> None:
    for seed in range(10):
        faults: tuple[Fault, ...] = (Crashed(nodes=0.2), Unseen(share=0.2, window_ms=(0.0, 50.0)))
        keys = {
            "settings": FloodSettings(beat_us=10_000),
            "until_ms": 90.0,
            "nodes": 30,
            "network": network,
            "seed": seed,
        }
        first, second = (run(*faults, engine=engine, **keys) for engine in ("windowed", "event-order"))
        assert first.journal is not None
        assert second.journal is not None
        assert journal_hash(first.journal) == journal_hash(second.journal)
        assert first.messages == second.messages


def test_topics_apart_share_no_subscriber() -> None:
    text = """
name = "apart"
protocol = "flood"
nodes = 30
seed = 4
[[topic]]
name = "g"
subscribers = 20
[[topic]]
name = "d"
subscribers = 0.2
apart = true
[[topic]]
name = "a"
apart = true
"""
    members = initial_subscribers(parse_scenario(text, "here"))
    assert [len(each) for each in members.values()] == [20, 6, 4]
    assert len({node for each in members.values() for node in each}) == 30
    with pytest.raises(ScenarioError, match=r"subscribers = 0.4 apart from .* only 10 of 30 nodes are left"):
        simulate(parse_scenario(text.replace("0.2", "0.4"), "here"))
    with pytest.raises(ScenarioError, match="apart = true, but its subscribers are listed"):
        parse_scenario(text.replace("0.2", "[1, 2]"), "here")


class Idle(Machine):
    """Does nothing, on topics that form a hierarchy."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        self.hierarchy = setup.hierarchy

    def start(self) -> None:
        assert self.hierarchy.parents(Topic("b.x")) == (Topic("b"), Topic("a"))


@pytest.fixture
def idle() -> Iterator[None]:
    PROTOCOLS["idle"] = Entry(Idle, topics="hierarchy", promises=lambda _: ("no parasites",))
    yield
    del PROTOCOLS["idle"]


PARENTS = """
name = "parents"
protocol = "idle"
nodes = 4
[[topic]]
name = "b.x"
parents = ["a"]
[[topic]]
name = "a"
"""


@pytest.mark.usefixtures("idle")
def test_topics_have_several_parents_and_the_journal_says_so() -> None:
    journal = simulate(parse_scenario(PARENTS, "here")).journal
    assert journal is not None
    assert hierarchy_of(journal) == {"a": [], "b": [], "b.x": ["b", "a"]}
    assert promises_of(journal) == ("no parasites",)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            '"a"]',
            '"aa"]',
            r'1: parents: "aa" is declared by no \[\[topic\]\]; did you mean "a"',
        ),
        ('parents = ["a"]', 'parent = ["a"]', 'unknown key "parent"; did you mean "parents"'),
        ('name = "a"', 'name = "a"\nparents = ["b.x"]', "would include itself"),
        ('"idle"', '"vcube-ps"', "to vcube-ps no topic includes another"),
    ],
)
def test_wrong_parents_are_refused(old: str, new: str, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        parse_scenario(PARENTS.replace(old, new), "here")
