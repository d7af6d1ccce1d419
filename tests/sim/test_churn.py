"""Churn: how many leave and join, when, and that those who publish are subscribed."""

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import ScenarioError, Topic
from treecast.sim import Result, Scenario, simulate
from treecast.sim.churn import changes
from treecast.sim.randomness import stream
from treecast.sim.scenario import (
    Burst,
    Churn,
    Exchange,
    Once,
    PacketNetwork,
    Sessions,
    Steady,
    TopicSetup,
    Turnover,
    Workload,
)

TOPIC = Topic("t")
WINDOW = (0.0, 60_000.0)

churns = st.one_of(
    st.builds(
        Sessions, topic=st.just(TOPIC), session_ms_mean=st.floats(1_000, 1e6), window_ms=st.just(WINDOW)
    ),
    st.builds(
        Turnover,
        topic=st.just(TOPIC),
        share_max=st.floats(0, 1, exclude_min=True),
        every_ms=st.floats(500, 50_000),
        window_ms=st.just(WINDOW),
        publishers_stay=st.booleans(),
    ),
)


def planned(
    churn: Churn, subscribers: int, nodes: int, seed: int, staying: set[int] | None = None
) -> list[tuple[int, int, str]]:
    found = changes(churn, range(subscribers), nodes, staying or set(), stream(seed, "churn", 1))
    return list(found)


@given(churns, st.integers(2, 40), st.data())
def test_the_number_of_subscribers_stays_and_nobody_joins_as_he_leaves(
    churn: Churn, nodes: int, data: st.DataObject
) -> None:
    subscribers = data.draw(st.integers(1, nodes - 1))
    staying = data.draw(st.sets(st.integers(0, subscribers - 1)))
    members, last_us = set(range(subscribers)), 0
    instant: dict[int, list[tuple[int, str]]] = {}
    for at_us, node, do in planned(churn, subscribers, nodes, data.draw(st.integers(0, 99)), staying):
        assert last_us <= at_us < 60_000_000
        last_us = at_us
        instant.setdefault(at_us, []).append((node, do))
    spared = staying if isinstance(churn, Turnover) and churn.publishers_stay else set()
    for deeds in instant.values():
        leavers = {node for node, do in deeds if do == "unsubscribe"}
        joiners = {node for node, do in deeds if do == "subscribe"}
        if isinstance(churn, Turnover):
            assert not leavers & joiners
            assert len(leavers) == len(joiners) <= round(churn.share_max * subscribers)
        assert not leavers & spared
        for node, do in deeds:
            assert (node in members) == (do == "unsubscribe")
            members ^= {node}
        assert len(members) == subscribers


def test_sessions_are_as_long_as_their_mean() -> None:
    """100 subscribers, each for 10 s on average: 10 leave a second; a Poisson count's sd is its root."""
    churn = Sessions(topic=TOPIC, session_ms_mean=10_000, window_ms=(0, 600_000))
    counts = [len(planned(churn, 100, 128, seed)) / 2 for seed in range(20)]
    assert mean(counts) == pytest.approx(6_000, rel=0.02)


def test_a_turnover_changes_from_none_to_its_share_each_as_often() -> None:
    churn = Turnover(topic=TOPIC, share_max=0.05, every_ms=100, window_ms=(0, 600_000))
    found = planned(churn, 100, 256, seed=1)
    leavers = [
        sum(at_us == turn * 100_000 and do == "unsubscribe" for at_us, _, do in found) for turn in (0,)
    ]
    assert leavers[0] <= 5
    assert len(found) / 2 / 6_000 == pytest.approx(2.5, rel=0.03)


@pytest.mark.parametrize("leavers", [25, 0.25, tuple(range(25))])
def test_an_exchange_is_of_so_many_within_its_window(leavers: float) -> None:
    churn = Exchange(topic=TOPIC, leavers=leavers, window_ms=(100, 200))
    found = planned(churn, 100, 128, seed=3)
    assert sorted(do for *_, do in found) == ["subscribe"] * 25 + ["unsubscribe"] * 25
    assert all(100_000 <= at_us <= 200_000 for at_us, *_ in found)
    assert len({node for _, node, _ in found}) == 50
    assert len({at_us for at_us, *_ in found}) > 40


def run(churn: Churn, *workloads: Workload, subscribers: int = 8, nodes: int = 16) -> Result:
    return simulate(
        Scenario(
            name="churn",
            protocol="vcube-ps",
            nodes=nodes,
            network=PacketNetwork(propagation_us=10_000),
            topics=(TopicSetup(name=TOPIC, subscribers=subscribers),),
            workloads=workloads,
            churns=(churn,),
        )
    )


def test_leaves_and_joins_are_counted_and_so_is_who_was_served_in_vain() -> None:
    churn = Sessions(topic=TOPIC, session_ms_mean=2_000, window_ms=(0, 20_000))
    result = run(churn, Steady(topic=TOPIC, every_ms=20, count=1_000))
    counts = result.faults[0].counts
    assert counts["leaves"] == counts["joins"] > 40
    assert result.events_published == 1_000
    assert result.inputs_skipped == {}
    assert result.false_positives > 0
    assert result.queue_wait_ms is not None
    assert result.queue_wait_ms > 0


def test_steady_events_are_published_by_many_at_even_gaps() -> None:
    churn = Exchange(topic=TOPIC, leavers=1)
    result = run(churn, Steady(topic=TOPIC, every_ms=50, count=200))
    assert result.journal is not None
    rows = [row for row in result.journal.to_pylist() if row["kind"] == "publish"]
    assert [row["time_us"] for row in rows] == [50_000 * turn for turn in range(200)]
    assert len({row["node"] for row in rows}) == 8


def test_publishers_stay_when_they_are_to() -> None:
    burst = Burst(topic=TOPIC, count=10)
    for seed_less_leavers in (1, 4, 7):
        churn = Exchange(topic=TOPIC, leavers=seed_less_leavers, publishers_stay=True)
        result = run(churn, burst)
        assert (result.events_published, result.inputs_skipped) == (10, {})


def test_whoever_has_left_does_not_publish_and_is_counted() -> None:
    churn = Exchange(topic=TOPIC, leavers=8)
    result = run(churn, Once(topic=TOPIC, publishers="all", window_ms=(1000, 1000)))
    assert result.events_published == 0
    assert result.inputs_skipped == {"publish": 8}


def test_a_churn_in_which_nobody_left_is_refused() -> None:
    churn = Sessions(topic=TOPIC, session_ms_mean=1e9, window_ms=(0, 10))
    with pytest.raises(ScenarioError, match=r"\[\[churn\]\] 1: the churn never took effect: nobody left"):
        run(churn)
