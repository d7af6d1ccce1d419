"""The latency network, and nodes that can take only so much."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flood import FloodSettings, flood_registered
from hypothesis import given, settings
from hypothesis import strategies as st

from treecast.core import EventId, ScenarioError, Topic
from treecast.journal import journal_hash
from treecast.protocols.vcube.messages import Sub
from treecast.sim import Result, Scenario, parse_scenario, simulate
from treecast.sim.host import QUEUE_FULL
from treecast.sim.network import flight_us_min, make_link
from treecast.sim.scenario import (
    Action,
    Burst,
    Capacity,
    LatencyNetwork,
    Loss,
    Network,
    Slow,
    TopicSetup,
    UniformNetwork,
)

TOPIC = Topic("t")


@pytest.fixture(autouse=True, scope="module")
def flood() -> Iterator[None]:
    with flood_registered():
        yield


def scenario(**keys: Any) -> Scenario:
    keys.setdefault("workloads", (Burst(topic=TOPIC, publishers=5, count=4, window_ms=(0.0, 50.0)),))
    return Scenario(
        name="capacity",
        protocol="flood",
        nodes=keys.pop("nodes", 12),
        settings=FloodSettings(chords=(1, 2, 5)),
        topics=(TopicSetup(name=TOPIC),),
        **keys,
    )


@given(st.integers(0, 10**6), st.integers(0, 5_000), st.integers(0, 5_000))
def test_a_message_takes_the_delay_more_or_less(now_us: int, delay_us: int, jitter_us: int) -> None:
    delay_us += jitter_us
    network = LatencyNetwork(delay_us=delay_us, jitter_us=jitter_us)
    link = make_link(network, 0, 3)
    taken = [link.arrival_us(now_us, Sub(TOPIC, EventId(0, 1))) - now_us for _ in range(50)]
    assert min(taken) >= delay_us - jitter_us == flight_us_min(network)
    assert max(taken) <= delay_us + jitter_us
    assert jitter_us < 100 or max(taken) - min(taken) > jitter_us / 2


def test_latency_shows_in_results() -> None:
    latency = simulate(scenario(network=LatencyNetwork())).reception_latency_ms
    assert latency.mean is not None
    assert 500 < latency.mean < 1_600


def test_a_node_that_can_take_little_drops_and_counts_it() -> None:
    free = simulate(scenario(network=UniformNetwork()))
    tight = simulate(scenario(network=UniformNetwork(), capacity=Capacity(messages_per_s=100, queue_max=3)))
    assert QUEUE_FULL not in free.counts
    dropped = tight.counts[QUEUE_FULL]
    assert dropped > 50
    assert dropped == sum(each.sent - each.received for each in tight.messages.values())
    assert tight.to_json()["counts"] == {QUEUE_FULL: dropped}
    assert tight.events_delivered < free.events_delivered


NETWORKS: list[Network] = [
    LatencyNetwork(delay_us=8_000, jitter_us=6_000),
    UniformNetwork(low_us=1_000, high_us=4_000),
    UniformNetwork(low_us=5_000, high_us=5_000, acks="free"),
]


@settings(max_examples=60)
@given(
    st.sampled_from(NETWORKS),
    st.sampled_from([40.0, 300.0, 3_000.0]),
    st.integers(1, 12),
    st.integers(0, 10_000),
    st.sampled_from(["none", "slow", "loss", "crash"]),
    st.sampled_from([None, None, 30.3]),
)
def test_both_engines_drop_the_same(
    network: Network, messages_per_s: float, queue_max: int, seed: int, fault: str, until_ms: float | None
) -> None:
    capacity = Capacity(messages_per_s=messages_per_s, queue_max=queue_max)
    whole = scenario(network=network, capacity=capacity, seed=seed, until_ms=until_ms)
    match fault:
        case "slow":
            whole = replace(whole, faults=(Slow(nodes=0.5, longer_us=7_000, window_ms=(0, 60)),))
        case "loss":
            whole = replace(whole, faults=(Loss(share=0.2, window_ms=(0, 1000)),))
        case "crash":
            deeds = [(seed % 97, 3, "crash"), (seed % 97 + seed % 60, 3, "recover"), (40, 5, "crash")]
            actions = tuple(Action(at_ms=at_ms, node=node, do=do) for at_ms, node, do in deeds)  # type: ignore[arg-type]
            whole = replace(whole, actions=actions)
    first, second = (_run(whole, engine) for engine in ("windowed", "event-order"))
    if isinstance(first, str) or isinstance(second, str):
        assert first == second
        return
    assert first.journal is not None
    assert second.journal is not None
    assert journal_hash(first.journal) == journal_hash(second.journal)
    assert first.messages == second.messages
    assert first.counts == second.counts
    assert [tally.counts for tally in first.faults] == [tally.counts for tally in second.faults]


def test_what_a_slow_node_has_kept_waiting_leaves_it_in_the_order_of_arrival() -> None:
    """When it is slow no more and processing takes no time, all of it is through at one instant."""
    network = UniformNetwork(low_us=1_000, high_us=5_000, processing_us=0)
    for seed in range(8):
        fault = Slow(nodes=1.0, longer_us=20_000, window_ms=(0, 60))
        first, second = (
            _run(scenario(network=network, faults=(fault,), seed=seed), engine)
            for engine in ("windowed", "event-order")
        )
        assert isinstance(first, Result)
        assert isinstance(second, Result)
        assert first.journal is not None
        assert second.journal is not None
        assert journal_hash(first.journal) == journal_hash(second.journal)


def _run(whole: Scenario, engine: Any) -> Result | str:
    try:
        return simulate(whole, engine=engine)
    except ScenarioError as error:
        return str(error)


TEXT = """
name = "capacity"
protocol = "flood"
nodes = 4
[network]
model = "latency"
delay_us = 500000
jitter_us = 300000
[capacity]
messages_per_s = 250
queue_max = 100
"""


def test_the_tables_are_read() -> None:
    whole = parse_scenario(TEXT, "here")
    assert whole.network == LatencyNetwork()
    assert whole.capacity == Capacity(messages_per_s=250, queue_max=100)
    assert whole.processing_us == 4_000


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("jitter_us = 300000", "jitter_us = 600000", "jitter_us = 600000 is above delay_us = 500000"),
        ("jitter_us", "jiter_us", 'unknown key "jiter_us"; did you mean "jitter_us"'),
        ("queue_max = 100", "queue_max = 0", r"\[capacity\]: queue_max = 0; give a count from 1"),
        ("queue_max = 100", "", r'\[capacity\]: the key "queue_max" is missing'),
        ("= 250", "= 0", r"\[capacity\]: messages_per_s = 0; give messages a second above 0"),
        ('"latency"', '"latencies"', 'unknown model "latencies"; did you mean "latency"'),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        parse_scenario(TEXT.replace(old, new), "here")
