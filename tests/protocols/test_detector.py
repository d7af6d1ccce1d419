"""VCube's detector: scripted calls to one, against rules written naively.

Scripted, node 0 of eight unless a test says otherwise; a round is 1000 ms, a timeout 300 ms.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile

import naive_hypercube as naive
import pytest
from detector_network import EVERY_US, SETTINGS, TIMEOUT_US, Heard
from hypothesis import given
from hypothesis import strategies as st
from recording_host import Deed, PeerChanged, RecordingHost, Sent, TimerSet

from treecast.core import ID_BITS, NodeId, Topic
from treecast.protocols.vcube import pb_messages
from treecast.protocols.vcube.detector import Detector
from treecast.protocols.vcube.pb_messages import Answer, Bookmark, Standing, State

CHAT = Topic("chat")
NEWS = Topic("news")
ROUND, TIMEOUT = "round", "timeout"
NOTHING_YET = Bookmark(0, 0)


def detector(
    i: NodeId = 0, nodes: Sequence[NodeId] = range(8), life: int = 0
) -> tuple[Detector, RecordingHost, Heard]:
    """Node i's, started."""
    host, heard = RecordingHost(life=life), Heard()
    machine = Detector(host, i, nodes, SETTINGS, heard)
    machine.start()
    host.take()
    return machine, host, heard


def alive(node: NodeId, counter: int = 0, life: int = 0) -> State:
    assert counter % 2 == 0
    return State(node, life, counter)


def crashed(node: NodeId, counter: int = 1, life: int = 0) -> State:
    assert counter % 2 == 1
    return State(node, life, counter)


def subscribed(node: NodeId, counter: int = 0, life: int = 0, topic: Topic = CHAT) -> Standing:
    return Standing(node, life, counter, topic, True, False)


def answer(
    node: NodeId, version: int = 0, *, states: Iterable[State] = (), standings: Iterable[Standing] = ()
) -> Answer:
    """Of a node that has never been suspected."""
    return Answer(alive(node), version, tuple(states), tuple(standings))


def answer_to(
    machine: Detector, host: RecordingHost, *, by: NodeId = 7, since: Bookmark = NOTHING_YET
) -> Answer:
    """What node `by` is told when it asks."""
    machine.on_test(by, pb_messages.Test(alive(by), alive(0), since))
    (deed,) = host.take()
    assert isinstance(deed, Sent)
    assert isinstance(deed.message, Answer)
    assert deed.to == by
    return deed.message


def first_tests(*nodes: NodeId) -> list[Deed]:
    """Node 0's, of nodes that it has never heard of."""
    return [Sent(node, pb_messages.Test(alive(0), alive(node), NOTHING_YET)) for node in nodes]


def nodes_tested(deeds: Iterable[Deed]) -> list[NodeId]:
    return [
        deed.to for deed in deeds if isinstance(deed, Sent) and isinstance(deed.message, pb_messages.Test)
    ]


# -- who is tested -------------------------------------------------------------------------


def test_each_node_has_a_time_of_the_round_of_its_own() -> None:
    times = set()
    for seed in range(20):
        host = RecordingHost(seed)
        Detector(host, 0, range(8), SETTINGS, Heard()).start()
        (timer,) = host.take()
        assert isinstance(timer, TimerSet)
        assert timer.key == ROUND
        assert 1 <= timer.after_us <= EVERY_US
        times.add(timer.after_us)
    assert len(times) > 10


def test_in_a_round_node_0_of_eight_tests_4_2_and_1() -> None:
    machine, host, heard = detector()
    assert machine.timer(ROUND)
    assert host.take() == [*first_tests(4, 2, 1), TimerSet(TIMEOUT, TIMEOUT_US), TimerSet(ROUND, EVERY_US)]
    assert heard.rounds == 1


def test_who_is_alone_tests_nobody_and_goes_on() -> None:
    machine, host, heard = detector(nodes=[0])
    assert machine.is_alone()
    assert machine.timer(ROUND)
    assert host.take() == [TimerSet(ROUND, EVERY_US)]
    assert heard.rounds == 1


def test_other_timers_are_not_the_detectors() -> None:
    machine, host, _ = detector()
    assert not machine.timer("retry")
    assert host.take() == []


def up_to_the_first_fault_free(cluster: Sequence[NodeId], suspects: set[NodeId]) -> set[NodeId]:
    before = set(takewhile(suspects.__contains__, cluster))
    return before | set(cluster[len(before) : len(before) + 1])


@given(st.integers(0, 6), st.data())
def test_of_each_cluster_all_up_to_the_first_fault_free_are_tested(d: int, data: st.DataObject) -> None:
    nodes = range(2**d)
    i = data.draw(st.sampled_from(nodes))
    suspects = data.draw(st.sets(st.sampled_from(nodes))) - {i}
    machine, host, _ = detector(i, nodes)
    if suspects:
        teller = next(node for node in nodes if node != i)
        machine.on_answer(teller, answer(teller, states=map(crashed, suspects)))
    host.take()
    machine.timer(ROUND)
    expected: set[NodeId] = set()
    for s in range(1, d + 1):
        expected |= up_to_the_first_fault_free(naive.ordered_cluster(i, s), suspects)
    found = nodes_tested(host.take())
    assert sorted(found) == sorted(expected)


@given(st.sets(st.integers(0, 2**ID_BITS - 1), min_size=2, max_size=12), st.data())
def test_of_each_cluster_of_sparse_ids_too(ids: set[NodeId], data: st.DataObject) -> None:
    nodes = sorted(ids)
    i = data.draw(st.sampled_from(nodes))
    suspects = data.draw(st.sets(st.sampled_from(nodes))) - {i}
    machine, host, _ = detector(i, nodes)
    if suspects:
        teller = next(node for node in nodes if node != i)
        machine.on_answer(teller, answer(teller, states=map(crashed, suspects)))
    host.take()
    machine.timer(ROUND)
    expected: set[NodeId] = set()
    for s in {(i ^ node).bit_length() for node in nodes if node != i}:
        expected |= up_to_the_first_fault_free(naive.nearest_by_xor(i, s, nodes), suspects)
    assert sorted(nodes_tested(host.take())) == sorted(expected)


# -- silence -------------------------------------------------------------------------------


def test_who_answers_in_time_is_not_suspected() -> None:
    machine, host, heard = detector()
    machine.timer(ROUND)
    host.take()
    for node in (1, 2, 4):
        machine.on_answer(node, answer(node))
    machine.timer(TIMEOUT)
    assert host.take() == []
    assert heard.take() == []


def test_who_is_silent_is_suspected_and_the_next_of_its_cluster_tested_in_the_same_round() -> None:
    machine, host, heard = detector()
    machine.timer(ROUND)
    host.take()
    machine.on_answer(1, answer(1))
    machine.on_answer(2, answer(2))
    machine.timer(TIMEOUT)
    assert host.take() == [PeerChanged(4, False), *first_tests(5), TimerSet(TIMEOUT, TIMEOUT_US)]
    assert heard.take() == [("lost", 4, 0)]
    assert machine.is_suspected(4)
    machine.on_answer(5, answer(5))
    machine.timer(TIMEOUT)
    assert host.take() == [], "the round is over"


def test_in_a_cluster_where_all_are_silent_the_search_comes_to_an_end() -> None:
    machine, host, heard = detector(nodes=range(4))
    machine.timer(ROUND)
    machine.on_answer(1, answer(1))
    host.take()
    machine.timer(TIMEOUT)
    assert nodes_tested(host.take()) == [3]
    machine.timer(TIMEOUT)
    assert nodes_tested(host.take()) == []
    assert heard.take() == [("lost", 2, 0), ("lost", 3, 0)]
    assert not machine.is_alone()


def test_a_suspect_is_tested_in_every_round_and_suspected_once() -> None:
    machine, host, heard = detector(nodes=range(2))
    for _ in range(3):
        machine.timer(ROUND)
        assert nodes_tested(host.take()) == [1]
        machine.timer(TIMEOUT)
    assert heard.take() == [("lost", 1, 0)]
    assert machine.is_alone()


def test_a_round_does_not_count_what_the_last_one_asked() -> None:
    """The timeout of a second search can run out in the next round: whom that tests has its own time."""
    machine, host, heard = detector(nodes=range(4))
    machine.timer(ROUND)
    machine.on_answer(1, answer(1))
    machine.timer(TIMEOUT)
    host.take()
    machine.timer(ROUND)
    assert sorted(nodes_tested(host.take())) == [1, 2, 3]
    machine.on_answer(1, answer(1))
    machine.on_answer(3, answer(3))
    machine.timer(TIMEOUT)
    assert heard.take() == [("lost", 2, 0)]


def test_a_late_answer_is_news_but_does_not_clear_its_sender() -> None:
    machine, host, heard = detector(nodes=range(4))
    machine.timer(ROUND)
    machine.on_answer(1, answer(1))
    machine.timer(TIMEOUT)
    host.take()
    heard.take()
    machine.on_answer(2, answer(2, 5, states=[crashed(3)], standings=[subscribed(2)]))
    assert heard.take() == [("lost", 3, 0), subscribed(2)]
    assert machine.is_suspected(2)
    host.take()
    machine.timer(ROUND)
    assert Sent(2, pb_messages.Test(alive(0), crashed(2), Bookmark(0, 5))) in host.take()
    machine.on_answer(2, Answer(alive(2, 2), 5, (), ()))
    assert not machine.is_suspected(2)
    assert heard.take() == [("found", 2)]
    assert host.take() == [PeerChanged(2, True)]


# -- what answers tell ---------------------------------------------------------------------


def test_an_answer_carries_what_is_new_since_the_bookmark() -> None:
    machine, host, _ = detector()
    assert answer_to(machine, host) == Answer(alive(0), 0, (), ())
    machine.on_answer(1, answer(1, states=[crashed(5)], standings=[subscribed(6)]))
    host.take()
    first = answer_to(machine, host)
    assert (first.states, first.standings) == ((crashed(5),), (subscribed(6),))
    machine.declare(CHAT, subscriber=True, publisher=True)
    second = answer_to(machine, host, since=Bookmark(0, first.version))
    assert (second.states, second.standings) == ((), (Standing(0, 0, 0, CHAT, True, True),))
    nothing = answer_to(machine, host, since=Bookmark(0, second.version))
    assert (nothing.states, nothing.standings) == ((), ())
    again = answer_to(machine, host, since=Bookmark(0, first.version))
    assert again == second, "it may have been lost"


def test_what_has_changed_again_is_told_once() -> None:
    machine, host, _ = detector()
    for state in (crashed(5), alive(5, 2), crashed(5, 3)):
        machine.on_answer(1, answer(1, states=[state]))
    for subscriber in (True, False):
        machine.declare(CHAT, subscriber=subscriber, publisher=False)
    host.take()
    told = answer_to(machine, host)
    assert told.states == (crashed(5, 3),)
    assert told.standings == (Standing(0, 0, 1, CHAT, False, False),)


def test_a_bookmark_in_the_news_of_an_earlier_life_counts_for_nothing() -> None:
    machine, host, _ = detector(life=1)
    machine.on_answer(1, answer(1, states=[crashed(5)]))
    host.take()
    told = answer_to(machine, host, since=Bookmark(0, 99))
    assert told.states == (crashed(5),)
    assert told.state == alive(0, life=1)


def test_the_next_test_asks_from_where_the_last_answer_ended() -> None:
    machine, host, _ = detector(nodes=range(2))

    def asked_since() -> Bookmark:
        machine.timer(ROUND)
        (test,) = (deed.message for deed in host.take() if isinstance(deed, Sent))
        assert isinstance(test, pb_messages.Test)
        return test.since

    machine.on_answer(1, answer(1, 7))
    assert asked_since() == Bookmark(0, 7)
    machine.on_answer(1, answer(1, 4))
    assert asked_since() == Bookmark(0, 7), "an older answer, overtaken"
    machine.on_answer(1, Answer(alive(1, life=1), 2, (), ()))
    assert asked_since() == Bookmark(1, 2)
    machine.on_answer(1, answer(1, 9))
    assert asked_since() == Bookmark(1, 2), "of the life before"


# -- suspected, and alive ------------------------------------------------------------------


def test_who_is_tested_by_one_who_suspects_it_says_that_it_is_alive() -> None:
    machine, host, _ = detector()
    machine.on_test(7, pb_messages.Test(alive(7), crashed(0, 3), NOTHING_YET))
    assert host.take() == [Sent(7, Answer(alive(0, 4), 0, (), ()))]
    machine.timer(ROUND)
    (first, *_) = host.take()
    assert first == Sent(4, pb_messages.Test(alive(0, 4), alive(4), NOTHING_YET))


def test_who_hears_that_it_is_suspected_says_otherwise_from_then_on() -> None:
    machine, host, heard = detector()
    machine.on_answer(4, answer(4, states=[crashed(0)]))
    assert answer_to(machine, host).state == alive(0, 2)
    assert heard.take() == []
    assert not machine.is_suspected(0)


@pytest.mark.parametrize("said", [alive(0), alive(0, 2), crashed(0, 1), crashed(0, 5, life=1)])
def test_what_is_said_of_a_node_and_is_old_it_does_not_answer(said: State) -> None:
    machine, host, _ = detector(life=2)
    machine.on_answer(4, answer(4, states=[said]))
    assert answer_to(machine, host).state == alive(0, life=2)


# -- lives ---------------------------------------------------------------------------------


def test_a_node_that_has_restarted_is_lost_and_then_found_and_stands_for_nothing() -> None:
    machine, host, heard = detector()
    machine.on_answer(4, answer(4, standings=[subscribed(5), subscribed(5, topic=NEWS), subscribed(6)]))
    heard.take()
    machine.on_test(5, pb_messages.Test(alive(5, life=1), alive(0), NOTHING_YET))
    assert heard.take() == [("lost", 5, 0), ("found", 5)]
    *changes, told = host.take()
    assert changes == [PeerChanged(5, False), PeerChanged(5, True)]
    assert told == Sent(5, Answer(alive(0), 4, (alive(5, life=1),), (subscribed(6),)))
    assert machine.life_of(5) == 1
    assert machine.standing(5, CHAT) is None
    assert machine.standing(5, NEWS) is None
    assert machine.standing(6, CHAT) == subscribed(6)


def test_a_suspect_that_has_restarted_is_found_only() -> None:
    machine, _, heard = detector()
    machine.on_answer(4, answer(4, states=[crashed(5)], standings=[subscribed(5)]))
    heard.take()
    machine.on_test(5, pb_messages.Test(alive(5, life=1), crashed(0), NOTHING_YET))
    assert heard.take() == [("found", 5)]
    assert machine.standing(5, CHAT) is None


def test_who_has_restarted_and_crashed_again_is_lost() -> None:
    machine, _, heard = detector()
    machine.on_answer(4, answer(4, states=[crashed(5, 1, life=1)]))
    assert heard.take() == [("lost", 5, 0)]
    assert machine.is_suspected(5)
    machine.on_answer(4, answer(4, states=[alive(5, 8)]))
    assert machine.is_suspected(5), "that was the life before"


def test_a_standing_of_a_life_not_yet_known_tells_of_that_life() -> None:
    machine, _, heard = detector()
    machine.on_answer(4, answer(4, standings=[subscribed(5)]))
    heard.take()
    reborn = subscribed(5, life=2, topic=NEWS)
    machine.on_answer(4, answer(4, standings=[reborn]))
    assert heard.take() == [("lost", 5, 0), ("found", 5), reborn]
    assert machine.life_of(5) == 2
    assert machine.standing(5, CHAT) is None
    machine.on_answer(4, answer(4, standings=[subscribed(5, 9, life=1)]))
    assert heard.take() == []
    assert machine.standing(5, CHAT) is None, "of a life that is over"


def test_what_a_node_was_told_in_an_earlier_life_it_does_not_take_for_the_beginning_of_the_news() -> None:
    """The answer to a test that its earlier life sent reaches it: all before that must still be told."""
    earlier, earlier_host, _ = detector(nodes=range(2))
    other, other_host, _ = detector(1, nodes=range(2))
    other.declare(CHAT, subscriber=True, publisher=False)
    first = answer_to(other, other_host, by=0)
    earlier.on_answer(1, first)
    other.declare(NEWS, subscriber=True, publisher=False)
    earlier.timer(ROUND)
    test = next(deed.message for deed in earlier_host.take() if isinstance(deed, Sent))
    assert isinstance(test, pb_messages.Test)
    late = answer_to(other, other_host, by=0, since=test.since)

    machine, host, _ = detector(nodes=range(2), life=1)
    machine.on_answer(1, late)
    machine.timer(ROUND)
    test = next(deed.message for deed in host.take() if isinstance(deed, Sent))
    assert isinstance(test, pb_messages.Test)
    machine.on_answer(1, answer_to(other, other_host, by=0, since=test.since))
    assert machine.standing(1, NEWS) is not None
    assert machine.standing(1, CHAT) is not None


# -- nodes that were not there at the beginning --------------------------------------------


def test_an_unknown_node_that_tests_is_taken_in_and_told_of() -> None:
    machine, host, heard = detector(nodes=range(4))
    machine.on_test(6, pb_messages.Test(alive(6), alive(0), NOTHING_YET))
    assert host.take() == [PeerChanged(6, True), Sent(6, Answer(alive(0), 1, (alive(6),), ()))]
    assert heard.take() == [("found", 6)]
    machine.timer(ROUND)
    assert nodes_tested(host.take()) == [6, 2, 1]
    assert answer_to(machine, host, by=1).states == (alive(6),)


def test_an_unknown_node_of_which_others_tell_is_taken_in_once() -> None:
    machine, _, heard = detector(nodes=range(4))
    for teller in (1, 2):
        machine.on_answer(teller, answer(teller, states=[alive(6)], standings=[subscribed(6)]))
    assert heard.take() == [("found", 6), subscribed(6)]
