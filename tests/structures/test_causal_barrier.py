"""The causal barrier against explicit histories, and what it costs to wait."""

from itertools import pairwise
from random import Random

import pytest
from causal_histories import TOPIC, Group, NaiveNode, in_causal_order
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import Event, EventId, NodeId
from treecast.structures.causal_barrier import NEW_MAX, RECENT_MAX, CausalBarrier

choices = st.lists(st.integers(0, 10_000), max_size=150)


def event(publisher: NodeId, sequence: int, *parents: tuple[NodeId, int]) -> Event:
    return Event(EventId(publisher, sequence), TOPIC, frozenset(EventId(*each) for each in parents), b"")


def test_figure_2() -> None:
    """p1 answers m(0,1) and then both m(2,1) and its own; a fourth node never gets m(2,1)."""
    p1 = CausalBarrier(settled=True)
    m01, m21 = event(0, 1), event(2, 1)
    assert p1.receive(m01) == (m01,)
    m11 = Event(EventId(1, 1), TOPIC, p1.publish(EventId(1, 1)), b"")
    assert m11.parents == {(0, 1)}
    assert p1.receive(m21) == (m21,)
    m12 = Event(EventId(1, 2), TOPIC, p1.publish(EventId(1, 2)), b"")
    assert m12.parents == {(2, 1), (1, 1)}, "m(0,1) is an indirect dependency and not named"

    p2 = CausalBarrier(settled=True)
    assert p2.publish(EventId(2, 1)) == frozenset()
    assert p2.receive(m11) == ()
    assert p2.receive(m12) == ()
    assert list(p2.receive(m01)) == [m01, m11, m12]

    p3 = CausalBarrier(settled=True)  # all know of it, and m(2,1) was published before
    p3.settle(2, 1)
    assert p3.receive(m11) == ()
    assert p3.receive(m12) == ()
    assert list(p3.receive(m01)) == [m01, m11, m12]


@given(st.integers(2, 5), choices)
def test_a_group_delivers_as_the_naive_one_and_names_the_immediate_predecessors(
    nodes: int, steps: list[int]
) -> None:
    group = Group(nodes)
    for choice in steps:
        group.take_step(choice, publications_max=40)
    group.finish()


def test_long_histories_cross_the_generations_and_the_merged_barrier() -> None:
    """Node 2 publishes twice only, so that its barrier is merged without being asked for."""
    random = Random("long histories")
    group = Group(3)
    turns_of_node_2 = {RECENT_MAX, 2 * RECENT_MAX + 400}
    had_at_its_turns = [0]
    while turns_of_node_2:
        links = group.arrivals()
        if len(links) > 2 and random.random() < 0.8:
            group.arrive(*links[random.randrange(len(links))])
        elif len(group.history.events) in turns_of_node_2:
            turns_of_node_2.remove(len(group.history.events))
            had_at_its_turns.append(len(group.order[2]))
            group.publish(2)
        else:
            group.publish(random.randrange(2))
    for before, after in pairwise(had_at_its_turns):
        assert after - before > NEW_MAX
    group.finish()


def test_a_parent_from_long_ago_is_still_known() -> None:
    """Its id was dropped with its generation."""
    barrier = CausalBarrier(settled=True)
    barrier.receive(event(9, 1))
    for sequence in range(1, 3 * RECENT_MAX):
        barrier.receive(event(0, sequence, *[(0, sequence - 1)] * (sequence > 1)))
    assert list(barrier.receive(event(9, 2, (9, 1)))) == [event(9, 2, (9, 1))]
    assert barrier.waiting == 0


def test_what_has_arrived_and_waits_is_waited_for_whatever_its_publisher_says() -> None:
    barrier = CausalBarrier(settled=True)
    answer, thanks = event(1, 2, (0, 1)), event(2, 3, (1, 2))
    assert barrier.receive(answer) == ()
    assert list(barrier.settle(1, 2)) == []
    assert barrier.receive(thanks) == ()
    assert list(barrier.receive(event(0, 1))) == [event(0, 1), answer, thanks]


def test_an_old_word_of_a_publisher_takes_nothing_back() -> None:
    barrier = CausalBarrier(settled=True)
    reply = event(1, 6, (0, 5))
    assert barrier.receive(reply) == ()
    assert list(barrier.settle(0, 4)) == []
    assert list(barrier.settle(0, 5)) == [reply]
    assert list(barrier.settle(0, 3)) == []
    assert list(barrier.receive(event(2, 6, (0, 5)))) == [event(2, 6, (0, 5))]


# -- a node that joins --------------------------------------------------------------------


def test_a_strict_node_skips_nothing_and_a_settled_one_what_will_never_come() -> None:
    joiner = CausalBarrier(settled=False)
    reply = event(1, 2, (0, 1))
    joiner.settle(0, 1)
    assert joiner.receive(reply) == ()
    assert joiner.waiting == 1
    assert joiner.become_settled() == [reply]
    assert joiner.waiting == 0
    joiner.settle(0, 3)
    assert joiner.receive(event(1, 5, (0, 3))) == (event(1, 5, (0, 3)),)


def test_m3_does_not_overtake_m1_where_m2_is_missing_and_m1_still_on_its_way() -> None:
    """m1 -> m2 -> m3 of the module's docstring: m2 will never come, and is known not to."""
    m1, m3 = event(0, 1), event(2, 3, (1, 2))
    joiner = CausalBarrier(settled=False)
    joiner.settle(1, 2)
    assert joiner.receive(m3) == ()
    assert list(joiner.receive(m1)) == [m1]
    assert joiner.become_settled() == [m3]


def test_m3_does_not_overtake_m1_where_both_wait_for_the_fence() -> None:
    """As above, but m1 names a missing event too; and m3 has arrived first."""
    m1, m3 = event(9, 2, (8, 1)), event(1, 4, (5, 3))
    joiner = CausalBarrier(settled=False)
    assert joiner.receive(m3) == ()
    assert joiner.receive(m1) == ()
    for source, through in ((8, 1), (5, 3)):
        assert joiner.settle(source, through) == []
    assert joiner.become_settled() == [m1, m3]


@given(st.integers(2, 4), choices, st.data())
def test_a_joiner_delivers_what_it_was_sent_as_if_it_knew_what_it_was_not(
    nodes: int, steps: list[int], data: st.DataObject
) -> None:
    """Of what was published before all knew of it, the joiner misses any part."""
    group = Group(nodes)
    for choice in steps:
        group.take_step(choice, publications_max=25)
    history = group.history
    known_from = data.draw(st.integers(0, len(history.events)), label="events before all know")
    early, late = history.events[:known_from], history.events[known_from:]
    missed = [each for each in early if data.draw(st.booleans(), label=f"missed {each.id}")]
    never = history.mask(missed)
    ahead: dict[NodeId, list[Event]] = {node: [] for node in group.nodes}
    for each in history.events:
        if each not in missed:
            ahead[each.id.publisher].append(each)

    joiner, naive = CausalBarrier(settled=False), NaiveNode(history)
    order: list[EventId] = []
    settled = False
    while True:
        can_settle = not settled and not any(each in early for queue in ahead.values() for each in queue)
        sources = [node for node, queue in ahead.items() if queue]
        if not sources and not can_settle:
            break
        source = data.draw(st.sampled_from(sources + [None] * can_settle), label="next arrival")
        if source is None:
            settled = True
            for each in early:
                released = joiner.settle(each.id.publisher, each.id.sequence)
                assert not released, "while strict, the word of a source releases nothing"
            naive.expected = history.mask(history.events) & ~never
            ready = list(joiner.become_settled())
            expected = naive.deliver()
        else:
            arrived = ahead[source].pop(0)
            ready = list(joiner.receive(arrived))
            expected = naive.receive(arrived)
        assert {each.id for each in ready} == expected
        order += [each.id for each in ready]
    in_causal_order(history, order, never=never)
    assert history.mask(late) & ~history.mask(each for each in history.events if each.id in order) == 0
    assert len(order) == len(history.events) - len(missed)

    own = EventId(len(group.nodes), 1_000)
    assert history.immediate_predecessors(order) <= joiner.publish(own)


def test_what_waits_when_the_node_leaves_is_never_delivered() -> None:
    barrier = CausalBarrier(settled=True)
    assert barrier.receive(event(1, 2, (0, 1))) == ()
    barrier.drop_waiting()
    assert barrier.waiting == 0
    assert list(barrier.receive(event(0, 1))) == [event(0, 1)]
    assert list(barrier.receive(event(0, 3, (1, 2)))) == [event(0, 3, (1, 2))], "m(1,2) has come and gone"


def test_who_comes_back_is_strict_about_what_it_missed_and_remembers_what_it_had() -> None:
    barrier = CausalBarrier(settled=True)
    first = event(0, 1)
    assert list(barrier.receive(first)) == [first]
    barrier.become_strict()
    barrier.hear(EventId(0, 2))
    reply = event(1, 3, (0, 2))
    assert barrier.receive(reply) == ()
    assert barrier.become_settled() == [reply]
    assert barrier.publish(EventId(4, 4)) == {(0, 1), (1, 3)}


# -- cost ---------------------------------------------------------------------------------


class Watched(CausalBarrier):
    """Counts how often it asks what an event waits for."""

    asked = 0

    def _blocker(self, event: Event) -> NodeId | None:
        self.asked += 1
        return super()._blocker(event)


@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("unrelated", [0, 1_000])
def test_an_arrival_looks_at_none_of_those_that_wait_for_others(unrelated: int, settled: bool) -> None:
    barrier = Watched(settled=settled)
    for k in range(unrelated):
        assert barrier.receive(event(20_000 + k, 2, (10_000 + k, 1))) == ()
    reply = event(1, 2, (0, 1))
    assert barrier.receive(reply) == ()

    barrier.asked = 0
    assert list(barrier.receive(event(2, 1))) == [event(2, 1)]
    assert barrier.asked == 0, "nobody waits for node 2"
    assert list(barrier.receive(event(0, 1))) == [event(0, 1), reply]
    assert barrier.asked == 1, "the reply alone"
    assert barrier.waiting == unrelated


def test_an_arrival_looks_at_none_of_those_that_wait_for_a_later_event_of_its_publisher() -> None:
    """Node 0's events come slowly; node 1's answers to each have all arrived before."""
    events = 500
    barrier = Watched(settled=True)
    for k in range(events):
        earlier = [(1, 2 * k)] if k else []
        assert barrier.receive(event(1, 2 * k + 2, (0, 2 * k + 1), *earlier)) == ()
    barrier.asked = 0
    for k in range(events):
        earlier = [(1, 2 * k)] if k else []
        question = event(0, 2 * k + 1, *earlier)
        assert [each.id for each in barrier.receive(question)] == [(0, 2 * k + 1), (1, 2 * k + 2)]
    assert barrier.asked <= 3 * events
