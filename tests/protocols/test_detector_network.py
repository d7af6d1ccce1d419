"""VCube's detector: the newest wins in whatever order it comes; a network of them through any troubles."""

from collections.abc import Sequence

import pytest
from detector_network import EVERY_US, TIMEOUT_US, DetectorNetwork
from hypothesis import given
from hypothesis import strategies as st
from test_detector import CHAT, NEWS, NOTHING_YET, answer, answer_to, detector

from treecast.core import NodeId
from treecast.protocols.vcube.detector import Detector
from treecast.protocols.vcube.pb_messages import Bookmark, Standing, State
from treecast.protocols.vcube.settings import rounds_bound

# -- the newest wins -----------------------------------------------------------------------

OTHERS = range(1, 6)
TELLER = 7


@st.composite
def facts(draw: st.DrawFn) -> list[State | Standing]:
    """States and standings, in any order and repeatedly; of one rank there is one standing."""
    node, life = st.sampled_from(OTHERS), st.integers(0, 2)
    states = draw(st.lists(st.builds(State, node, life, st.integers(0, 4)), max_size=12))
    standings = draw(
        st.lists(
            st.builds(
                Standing,
                node,
                life,
                st.integers(0, 3),
                st.sampled_from([CHAT, NEWS]),
                st.booleans(),
                st.booleans(),
            ),
            unique_by=lambda each: (each.node, each.topic, each.rank),
            max_size=12,
        )
    )
    found: list[State | Standing] = [*states, *standings]
    repeated = draw(st.lists(st.sampled_from(found), max_size=6)) if found else []
    return draw(st.permutations(found + repeated))


def newest(told: Sequence[State | Standing], node: NodeId) -> tuple[int, bool, list[Standing | None]]:
    """The life of `node`, whether it is suspected, and its standings: all told at once."""
    about = [fact for fact in told if fact.node == node]
    life = max((fact.life for fact in about), default=0)
    now = [fact for fact in about if fact.life == life]
    counter = max((fact.counter for fact in now if isinstance(fact, State)), default=0)
    standings: list[Standing | None] = []
    for topic in (CHAT, NEWS):
        on_topic = [fact for fact in now if isinstance(fact, Standing) and fact.topic == topic]
        standings.append(max(on_topic, key=lambda fact: fact.counter, default=None))
    return life, counter % 2 == 1, standings


def known(machine: Detector, node: NodeId) -> tuple[int, bool, list[Standing | None]]:
    return (
        machine.life_of(node),
        machine.is_suspected(node),
        [machine.standing(node, topic) for topic in (CHAT, NEWS)],
    )


@given(facts(), st.lists(st.integers(1, 5), max_size=10))
def test_the_newest_wins_in_whatever_order_and_how_often_it_comes(
    told: list[State | Standing], portions: list[int]
) -> None:
    machine, host, heard = detector()
    other, _, _ = detector(TELLER)
    told_to_other = NOTHING_YET
    lost: set[NodeId] = set()
    begin = 0
    for portion in [*portions, len(told)]:
        now = told[begin : begin + portion]
        begin += portion
        machine.on_answer(
            TELLER,
            answer(
                TELLER,
                states=[fact for fact in now if isinstance(fact, State)],
                standings=[fact for fact in now if isinstance(fact, Standing)],
            ),
        )
        for node in OTHERS:
            assert known(machine, node) == newest(told[:begin], node)
        for news in heard.take():
            match news:
                case ("lost", node, _):
                    assert node not in lost
                    lost.add(node)
                case ("found", node):
                    lost.remove(node)
        assert lost == {node for node in OTHERS if machine.is_suspected(node)}
        host.take()
        passed_on = answer_to(machine, host, since=told_to_other)
        told_to_other = Bookmark(0, passed_on.version)
        other.on_answer(0, passed_on)
        for node in OTHERS:
            assert known(other, node) == known(machine, node), "it learns all from answers"


# -- a network of them ---------------------------------------------------------------------


@st.composite
def troubles(draw: st.DrawFn) -> tuple[list[NodeId], int, list[tuple[str, NodeId, int]]]:
    """Some nodes, a seed of the delays, and what befalls whom: what, node, and how long until the next."""
    nodes = sorted(draw(st.sets(st.integers(0, 31), min_size=2, max_size=12)))
    what = st.sampled_from(["crash", "recover", "slow", "swift", "cut off", "deaf", "reachable", "declare"])
    steps = st.tuples(what, st.sampled_from(nodes), st.integers(0, 3 * EVERY_US))
    return nodes, draw(st.integers(0, 2**16)), draw(st.lists(steps, max_size=25))


def befall(network: DetectorNetwork, what: str, node: NodeId) -> None:
    """One trouble, or its end; without effect where it makes no sense."""
    others = [other for other in network.nodes if other != node]
    is_live = node in network.live
    match what:
        case "crash" if is_live and len(network.live) > 1:
            network.crash(node)
        case "recover" if not is_live:
            network.begin_life(node)
        case "slow":
            network.slow_us[node] = 2 * TIMEOUT_US
        case "swift":
            network.slow_us.pop(node, None)
        case "cut off":
            network.cut |= {(node, other) for other in others} | {(other, node) for other in others}
        case "deaf":
            network.cut |= {(other, node) for other in others}
        case "reachable":
            network.cut = {link for link in network.cut if node not in link}
        case "declare" if is_live:
            before = network.live[node].standing(node, CHAT)
            network.declare(node, CHAT, subscriber=before is None or not before.subscriber)


@given(troubles())
def test_once_all_is_well_the_live_trust_the_live_and_know_what_they_stand_for(
    drawn: tuple[list[NodeId], int, list[tuple[str, NodeId, int]]],
) -> None:
    nodes, seed, steps = drawn
    network = DetectorNetwork(nodes, seed)
    for what, node, then_us in steps:
        befall(network, what, node)
        network.run(then_us)
    network.slow_us.clear()
    network.cut.clear()
    network.run((2 * rounds_bound(len(nodes)) + 2) * EVERY_US)
    settled(network)


def settled(network: DetectorNetwork) -> None:
    for node, machine in network.live.items():
        others = [other for other in network.nodes if other != node]
        trusted = [other for other in others if not machine.is_suspected(other)]
        assert trusted == [other for other in others if other in network.live]
        for other in trusted:
            assert machine.standing(other, CHAT) == network.live[other].standing(other, CHAT)
        first = next(iter(network.live.values()))
        for crashed_node in set(others) - set(trusted):
            assert machine.standing(crashed_node, CHAT) == first.standing(crashed_node, CHAT)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 16, 32])
def test_a_crash_is_known_to_all_within_the_papers_number_of_rounds(n: int) -> None:
    for node in range(n):
        network = DetectorNetwork(range(n), seed=node)
        network.run(3 * EVERY_US + node * EVERY_US // n)
        network.crash(node)
        begun = {other: network.heard[other].rounds for other in network.live}
        unaware = dict.fromkeys(network.live)
        while unaware:
            network.run(EVERY_US // 100)
            for other in list(unaware):
                if network.live[other].is_suspected(node):
                    del unaware[other]
                else:
                    rounds = network.heard[other].rounds - begun[other]
                    assert rounds <= rounds_bound(n), f"node {other} does not know that {node} crashed"
