"""Where VCube-PB departs from the published algorithms: the interleavings that force it to.

Each story is told twice: to the pseudo-code as printed, which breaks one of the paper's own
properties, and to the machine, which keeps it. Unless its docstring says otherwise, a story
stays within the paper's model: crashes are for good, VCube never errs, and links lose nothing.
"""

from typing import TypeAlias

import pytest
from chosen_faults import ChosenFaults
from pb_pseudocode import PaperPB

from treecast.core import NodeId, Topic
from treecast.protocols.vcube.vcube_pb import VCubePB

CHAT = Topic("chat")
EVERYBODY = range(8)

Machine: TypeAlias = type[PaperPB | VCubePB]


def of_kind(network: ChosenFaults, kind: str) -> list[tuple[NodeId, NodeId]]:
    return [(sender, to) for sender, to, message in network.sent if message.kind == kind]


@pytest.mark.parametrize("machine", [PaperPB, VCubePB])
def test_without_faults_both_deliver_everything_in_causal_order(machine: Machine) -> None:
    """The stories below show the pseudo-code's gaps, not mistakes in writing it out."""
    network = ChosenFaults(machine, 8, {CHAT: (0, 2, 4, 5, 6)})
    network.publish(2, CHAT, b"question")
    network.arrive(2, 6, kind="PUB")
    assert of_kind(network, "PUB") == [(2, 6), (2, 0), (6, 4)], "the paper's second example"
    network.publish(6, CHAT, b"answer")
    network.run(hold=[(2, 0, "PUB")])
    assert of_kind(network, "PUB")[3:] == [(6, 2), (6, 4), (4, 5), (2, 0), (4, 5)]
    assert network.payloads(0) == []
    network.settle()
    for node in (0, 2, 4, 5, 6):
        assert network.payloads(node) == [b"question", b"answer"]
    for node in (1, 3, 7):
        assert network.payloads(node) == []


@pytest.mark.parametrize("machine", [PaperPB, VCubePB])
def test_both_pass_on_to_the_next_of_the_cluster_when_a_child_crashes(machine: Machine) -> None:
    """The paper's example: node 4 crashes after node 6 has sent to it; node 5 takes over."""
    network = ChosenFaults(machine, 8, {CHAT: (0, 2, 4, 5, 6)})
    network.publish(2, CHAT, b"news")
    network.arrive(2, 6, kind="PUB")
    network.crash(4)
    network.tell_crash(6, 4)
    assert of_kind(network, "PUB")[-1] == (6, 5)
    network.settle()
    for node in (0, 2, 5, 6):
        assert network.payloads(node) == [b"news"]


# -- the publisher crashes ----------------------------------------------------------------


def only_one_child_has_it(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 8, {CHAT: EVERYBODY})
    network.publish(0, CHAT, b"last words")
    network.crash(0, losing=[2, 1])
    network.settle()
    return network


def test_an_event_that_only_some_have_delivered_is_passed_on() -> None:
    """Line 40' looks among what waits (recs); what has been delivered has left it (line 11')."""
    published = only_one_child_has_it(PaperPB)
    for node in (4, 5, 6, 7):
        assert published.payloads(node) == [b"last words"]
    for node in (1, 2, 3):
        assert published.payloads(node) == []

    ours = only_one_child_has_it(VCubePB)
    for node in range(1, 8):
        assert ours.payloads(node) == [b"last words"]
    assert of_kind(ours, "HEIR"), "at once, and not by the repair of a later round"


def it_waits_for_its_cause(machine: Machine) -> ChosenFaults:
    slow = [(0, 2, "PUB")]
    network = ChosenFaults(machine, 4, {CHAT: range(4)})
    network.publish(0, CHAT, b"question")
    network.run(hold=slow)
    network.publish(1, CHAT, b"answer")
    network.run(hold=slow)
    network.crash(1)
    network.tell_crash(2, 1)
    network.run(hold=slow)
    network.settle()
    return network


def test_an_event_that_waits_is_not_delivered_for_being_passed_on() -> None:
    """T1 delivers what it sends (line 20): early, and again when its cause has come."""
    published = it_waits_for_its_cause(PaperPB)
    assert published.payloads(2) == [b"answer", b"question", b"answer"]

    ours = it_waits_for_its_cause(VCubePB)
    for node in (0, 2):
        assert ours.payloads(node) == [b"question", b"answer"]


def test_an_event_that_is_passed_on_keeps_its_barrier() -> None:
    """T1 gives it the barrier of whoever sends it (line 22): node 3, told of nothing, takes it at once.

    To node 3, the other barrier makes it another event besides (line 37).
    """
    published = it_waits_for_its_cause(PaperPB)
    assert published.payloads(3) == [b"answer", b"question", b"answer"]

    ours = it_waits_for_its_cause(VCubePB)
    assert ours.payloads(3) == [b"question", b"answer"]


def the_first_of_the_cluster_crashed_too(machine: Machine) -> ChosenFaults:
    slow = [(7, 5, "PUB")]
    network = ChosenFaults(machine, 8, {CHAT: (0, 4, 5, 6, 7)})
    network.publish(7, CHAT, b"question")
    network.run(hold=slow)
    network.publish(0, CHAT, b"answer")
    network.arrive(0, 4, kind="PUB")
    network.crash(4, losing=[6])
    network.crash(0)
    network.run(hold=slow)
    network.tell_crash(5, 4)
    network.tell_crash(5, 0)
    network.settle()
    return network


def test_an_event_that_is_passed_on_covers_the_publishers_tree() -> None:
    """Who is sent it goes by the sender's cluster (line 45), not the publisher's.

    Node 5, the first of node 0's cluster that is left, sends to itself, and that covers nobody.
    """
    published = the_first_of_the_cluster_crashed_too(PaperPB)
    assert b"answer" in published.payloads(5)
    assert published.payloads(6) == published.payloads(7) == [b"question"]

    ours = the_first_of_the_cluster_crashed_too(VCubePB)
    for node in (5, 6, 7):
        assert ours.payloads(node) == [b"question", b"answer"]


def it_comes_after_the_news_of_the_crash(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: (0, 1)})
    network.publish(0, CHAT, b"last words")
    network.crash(0)
    network.tell_crash(1, 0)
    network.settle()
    return network


def test_an_event_that_comes_after_its_publishers_crash_is_delivered_once() -> None:
    """Line 43 broadcasts, and so delivers, what line 41 has delivered."""
    published = it_comes_after_the_news_of_the_crash(PaperPB)
    assert published.payloads(1) == [b"last words", b"last words"]

    ours = it_comes_after_the_news_of_the_crash(VCubePB)
    assert ours.payloads(1) == [b"last words"]


def a_child_crashes_after_the_publisher(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 8, {CHAT: EVERYBODY})
    network.publish(0, CHAT, b"last words")
    network.arrive(0, 4, kind="PUB")
    network.crash(0)
    network.tell_crash(4, 0)
    network.crash(6)
    network.settle()
    return network


def test_a_tree_is_mended_after_its_publisher_has_crashed() -> None:
    """Line 31' drops whatever a node awaits for a publisher that has gone."""
    published = a_child_crashes_after_the_publisher(PaperPB)
    for node in (1, 2, 3, 4, 5):
        assert published.payloads(node) == [b"last words"]
    assert published.payloads(7) == []

    ours = a_child_crashes_after_the_publisher(VCubePB)
    for node in (1, 2, 3, 4, 5, 7):
        assert ours.payloads(node) == [b"last words"]


def published_while_the_last_one_is_on_its_way(machine: Machine) -> ChosenFaults:
    slow = [(1, 2, "PUB")]
    network = ChosenFaults(machine, 4, {CHAT: range(3)})
    network.publish(0, CHAT, b"first")
    network.publish(0, CHAT, b"second")
    network.publish(1, CHAT, b"other")
    network.arrive(1, 0, kind="PUB")
    network.run(hold=slow)
    assert b"other" not in network.payloads(2)
    return network


def test_what_waits_to_be_sent_is_delivered_and_stamped_already() -> None:
    """T1 does both when it sends (lines 20 and 22): the second waits for what it cannot depend on."""
    published = published_while_the_last_one_is_on_its_way(PaperPB)
    assert published.payloads(0) == [b"first", b"other", b"second"]
    assert published.payloads(2) == [b"first"]

    ours = published_while_the_last_one_is_on_its_way(VCubePB)
    assert ours.payloads(0) == [b"first", b"second", b"other"]
    assert ours.payloads(2) == [b"first", b"second"]


# -- acknowledgements ---------------------------------------------------------------------


def one_child_for_two_parents(machine: Machine) -> ChosenFaults:
    """Node 12 has the event from 8, who has crashed, and from 9, in 8's stead."""
    slow = [(14, 15, "PUB")]
    network = ChosenFaults(machine, 16, {CHAT: (0, 8, 9, 12, 14, 15)})
    network.publish(0, CHAT, b"first")
    network.publish(0, CHAT, b"second")
    network.run(hold=slow)
    network.crash(8)
    network.tell_crash(0, 8)
    network.run(hold=slow)
    network.run()
    network.settle()
    return network


def test_one_ack_answers_for_all_parents() -> None:
    """Node 14 acknowledges once (line 49), for one of two entries (line 28): 9 and 0 wait for ever."""
    published = one_child_for_two_parents(PaperPB)
    for node in (0, 9, 12, 14, 15):
        assert published.payloads(node) == [b"first"], "its publisher has not even sent the second"

    ours = one_child_for_two_parents(VCubePB)
    for node in (0, 9, 12, 14, 15):
        assert ours.payloads(node) == [b"first", b"second"]


# -- open groups, memberships -------------------------------------------------------------


def a_publisher_who_is_not_subscribed(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 8, {CHAT: (1, 2, 3, 5, 7)})
    network.register(0, CHAT)
    network.publish(0, CHAT, b"first")
    network.publish(0, CHAT, b"second")
    network.run()
    return network


def test_a_publisher_need_not_subscribe() -> None:
    """Who is in no members looks crashed: all broadcast for him (line 42); and he gets no ACK (line 21')."""
    published = a_publisher_who_is_not_subscribed(PaperPB)
    for node in (1, 2, 5):
        assert published.payloads(node) == [b"first", b"first"], "and never the second"
    assert len(of_kind(published, "PUB")) == 30

    ours = a_publisher_who_is_not_subscribed(VCubePB)
    assert len(of_kind(ours, "PUB")) == 2 * 5
    for node in (1, 2, 3, 5, 7):
        assert ours.payloads(node) == [b"first", b"second"]
    assert ours.payloads(0) == []


def publishes_and_is_unknown(machine: Machine, *, leaves: bool) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: range(4) if leaves else range(3)})
    if leaves:
        network.publish(3, CHAT, b"bye")
        network.unsubscribe(3, CHAT)
        for node in range(3):
            network.tell_standing(node, 3, CHAT)
    else:
        network.subscribe(3, CHAT)
        network.register(3, CHAT)
        network.publish(3, CHAT, b"hello")
    network.settle()
    return network


@pytest.mark.parametrize("leaves", [False, True])
def test_who_joins_or_leaves_may_publish_while_the_news_is_on_its_way(leaves: bool) -> None:
    """Line 42 takes a publisher for crashed who has only just come, or gone."""
    published = publishes_and_is_unknown(PaperPB, leaves=leaves)
    for node in (1, 2):
        assert published.payloads(node) == [b"bye" if leaves else b"hello"] * 2

    ours = publishes_and_is_unknown(VCubePB, leaves=leaves)
    for node in range(3):
        assert ours.payloads(node) == [b"bye" if leaves else b"hello"]


def somebody_else_leaves(machine: Machine) -> ChosenFaults:
    slow = [(0, 2, "PUB")]
    network = ChosenFaults(machine, 8, {CHAT: (0, 1, 2, 5)})
    network.publish(0, CHAT, b"question")
    network.run(hold=slow)
    network.publish(1, CHAT, b"answer")
    network.run(hold=slow)
    network.unsubscribe(5, CHAT)
    network.tell_standing(2, 5, CHAT)
    network.publish(1, CHAT, b"more")
    network.run(hold=slow)
    network.settle()
    return network


def test_one_who_leaves_changes_nothing_for_others_events() -> None:
    """Line 28' empties first_rec; what it next says of node 1 is taken to cover what waits (line 3')."""
    published = somebody_else_leaves(PaperPB)
    assert published.payloads(2) == [b"more", b"question", b"answer"]

    ours = somebody_else_leaves(VCubePB)
    for node in (0, 1, 2):
        assert ours.payloads(node) == [b"question", b"answer", b"more"]


def leaves_while_an_event_is_on_its_way(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 2, {CHAT: (0, 1)})
    network.publish(0, CHAT, b"news")
    network.unsubscribe(1, CHAT)
    network.settle()
    return network


def test_who_has_left_is_given_nothing() -> None:
    """Nothing between lines 32 and 41 asks whether the node is still subscribed."""
    published = leaves_while_an_event_is_on_its_way(PaperPB)
    assert published.payloads(1) == [b"news"]

    ours = leaves_while_an_event_is_on_its_way(VCubePB)
    assert ours.payloads(1) == []


# -- joining ------------------------------------------------------------------------------


def answers_to_what_came_before_it_joined(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: (0, 1)})
    network.publish(0, CHAT, b"question")
    network.settle()
    network.subscribe(2, CHAT)
    network.settle()
    network.publish(1, CHAT, b"answer")
    network.settle()
    return network


def test_who_joins_does_not_wait_for_what_was_published_before() -> None:
    """Figure 1's p3. Node 0 stays silent: first_rec never says that the question will not come."""
    published = answers_to_what_came_before_it_joined(PaperPB)
    assert (1, 2) in of_kind(published, "PUB"), "it does receive the answer"
    assert published.payloads(2) == []

    ours = answers_to_what_came_before_it_joined(VCubePB)
    assert ours.payloads(2) == [b"answer"]
    assert ours.joined[2] == [CHAT]


def known_to_one_and_not_to_another(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: (0, 1)})
    network.subscribe(2, CHAT)
    network.run()
    network.tell_standing(1, 2, CHAT)
    network.publish(1, CHAT, b"hello")
    network.run()
    network.publish(0, CHAT, b"welcome")
    network.run()
    network.settle()
    return network


def test_who_has_joined_misses_nothing_more() -> None:
    """Node 0 does not know of node 2 when it publishes; nobody looks after what it does not send."""
    published = known_to_one_and_not_to_another(PaperPB)
    assert published.payloads(1) == [b"hello", b"welcome"]
    assert published.payloads(2) == [b"hello"], "with it a correct subscriber, by the paper's section 4"

    ours = known_to_one_and_not_to_another(VCubePB)
    assert ours.payloads(1) == ours.payloads(2) == [b"hello", b"welcome"]


def a_link_that_is_missing(machine: Machine) -> ChosenFaults:
    slow = [(0, 2, "PUB")]
    network = ChosenFaults(machine, 4, {CHAT: (0, 1)})
    network.subscribe(2, CHAT)
    network.run()
    network.tell_standing(0, 2, CHAT)
    network.publish(0, CHAT, b"m1")
    network.run(hold=slow)
    network.publish(1, CHAT, b"m2")  # node 1 does not know of node 2 yet
    network.run(hold=slow)
    network.tell_standing(1, 2, CHAT)
    network.publish(1, CHAT, b"m3")
    network.run(hold=slow)
    network.run()
    network.settle()
    return network


def test_m3_does_not_overtake_m1_where_m2_is_missing() -> None:
    """m3 names m2 alone; that m2 will not come (line 3') says nothing of m1, which m2 follows."""
    published = a_link_that_is_missing(PaperPB)
    assert published.payloads(2) == [b"m3", b"m1"]

    ours = a_link_that_is_missing(VCubePB)
    assert ours.payloads(2) == [b"m1", b"m2", b"m3"]


# -- beyond the paper's model -------------------------------------------------------------


def suspected_wrongly(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: range(4)})
    network.tell_crash(0, 2)
    network.tell_crash(0, 3)
    network.publish(0, CHAT, b"meanwhile")
    network.settle()
    network.publish(0, CHAT, b"afterwards")
    network.settle()
    return network


def test_who_was_suspected_wrongly_is_taken_back_and_catches_up() -> None:
    """In the paper nobody ever is."""
    published = suspected_wrongly(PaperPB)
    assert published.payloads(2) == published.payloads(3) == []

    ours = suspected_wrongly(VCubePB)
    for node in range(4):
        assert ours.payloads(node) == [b"meanwhile", b"afterwards"]
    assert (0, 2) in of_kind(ours, "PUB")[-3:], "it stands in the tree again"


def back_after_a_crash(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: range(4)})
    network.publish(3, CHAT, b"before")
    network.settle()
    network.crash(3)
    network.settle()
    network.restart(3)
    network.subscribe(3, CHAT)
    network.settle()
    network.publish(3, CHAT, b"back again")
    network.settle()
    return network


def test_who_comes_back_after_a_crash_is_heard() -> None:
    """Its counter begins at 1 again, and everybody has delivered that (line 38)."""
    published = back_after_a_crash(PaperPB)
    assert published.payloads(0) == [b"before"]
    assert published.payloads(3) == [b"before", b"back again"]

    ours = back_after_a_crash(VCubePB)
    for node in range(3):
        assert ours.payloads(node) == [b"before", b"back again"]
    assert ours.payloads(3) == [b"before", b"back again"], "of which the first in its first life"


def lost_on_the_way(machine: Machine) -> ChosenFaults:
    network = ChosenFaults(machine, 4, {CHAT: range(4)})
    network.publish(0, CHAT, b"first")
    network.publish(0, CHAT, b"second")
    network.lose(0, 2, kind="PUB")
    network.settle()
    return network


def test_a_message_may_be_lost() -> None:
    """In the paper nothing is sent twice: the publisher waits for ever."""
    published = lost_on_the_way(PaperPB)
    assert published.payloads(1) == [b"first"]
    assert published.payloads(2) == published.payloads(3) == []

    ours = lost_on_the_way(VCubePB)
    for node in range(4):
        assert ours.payloads(node) == [b"first", b"second"]
