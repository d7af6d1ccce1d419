"""Where VCube-PS departs from the published pseudo-code: the interleavings that force it to.

Each story is told twice: to the pseudo-code as printed, which breaks one of the paper's own
properties, and to the machine, which keeps it.
"""

import pytest
from chosen_order import ChosenOrder, MachineFactory
from paper_pseudocode import PaperMachine

from treecast.core import NodeId, Topic
from treecast.protocols.vcube.vcube_ps import VCubePS

CHAT = Topic("chat")


def of_kind(network: ChosenOrder, kind: str) -> list[tuple[NodeId, NodeId]]:
    return [(sender, to) for sender, to, message in network.sent if message.kind == kind]


@pytest.mark.parametrize("machine", [PaperMachine, VCubePS])
def test_without_churn_both_deliver_everything_in_causal_order(
    machine: MachineFactory,
) -> None:
    """The stories below show the pseudo-code's gaps, not mistakes in writing it out."""
    network = ChosenOrder(machine, 8, {CHAT: (0, 2, 3, 5, 7)})
    network.publish(2, CHAT, b"question")
    assert of_kind(network, "PUB") == [(2, 7), (2, 0), (2, 3)]
    network.arrive(2, 7, kind="PUB")
    network.publish(7, CHAT, b"answer")
    network.run(hold=[(2, 0, "PUB"), (2, 3, "PUB")])
    assert network.payloads(0) == []
    network.run()
    for node in (0, 2, 3, 5, 7):
        assert network.payloads(node) == [b"question", b"answer"]
    for node in (1, 4, 6):
        assert network.payloads(node) == []
    network.subscribe(6, CHAT)
    network.run()
    network.publish(6, CHAT, b"hello")
    network.run()
    for node in (0, 2, 3, 5, 7):
        assert network.payloads(node) == [b"question", b"answer", b"hello"]
    network.unsubscribe(0, CHAT)
    network.run()
    network.publish(5, CHAT, b"bye")
    network.run()
    assert network.payloads(0) == [b"question", b"answer", b"hello"]
    assert network.payloads(3) == [b"question", b"answer", b"hello", b"bye"]


def back_before_it_has_left(machine: MachineFactory) -> ChosenOrder:
    network = ChosenOrder(machine, 2, {CHAT: (0, 1)})
    network.publish(1, CHAT, b"hello")
    network.run()
    network.publish(1, CHAT, b"first")
    network.publish(1, CHAT, b"second")
    network.unsubscribe(1, CHAT)
    network.subscribe(1, CHAT)
    network.run()
    return network


def test_a_subscribing_again_must_not_reset_the_view_that_queued_broadcasts_need() -> None:
    """Line 6 forgets to whom the queued PUB and UNS still have to go: they reach nobody."""
    published = back_before_it_has_left(PaperMachine)
    assert published.payloads(0) == [b"hello", b"first"]
    assert of_kind(published, "UNS") == []

    ours = back_before_it_has_left(VCubePS)
    assert ours.payloads(0) == [b"hello", b"first", b"second"]
    assert [message.kind for sender, _, message in ours.sent if sender == 1] == [
        *("PUB", "PUB", "PUB"),
        *("UNS", "SUB"),
    ]
    assert ours.joined[1] == [CHAT, CHAT]


def through_one_who_has_left(machine: MachineFactory) -> ChosenOrder:
    network = ChosenOrder(machine, 4, {CHAT: (0, 2)})
    network.unsubscribe(2, CHAT)
    network.subscribe(3, CHAT)
    network.run(hold=[(2, 0, "UNS")])
    network.publish(0, CHAT, b"news")
    network.run()
    return network


def test_b_one_who_has_left_must_keep_its_view_up_to_date_while_it_forwards() -> None:
    """Line 62 lets only subscribers learn of a SUB, yet others forward for those not told yet."""
    published = through_one_who_has_left(PaperMachine)
    assert (0, 2) in of_kind(published, "PUB")
    assert published.payloads(3) == []

    ours = through_one_who_has_left(VCubePS)
    assert of_kind(ours, "PUB") == [(0, 2), (2, 3)]
    assert ours.payloads(3) == [b"news"]
    assert ours.payloads(2) == []


def through_one_who_joins(machine: MachineFactory) -> ChosenOrder:
    network = ChosenOrder(machine, 4, {CHAT: (0, 3)})
    network.subscribe(2, CHAT)
    network.arrive(2, 0, kind="SUB")
    network.publish(0, CHAT, b"news")
    network.arrive(0, 2, kind="PUB")
    network.run()
    return network


def test_c_one_who_joins_must_not_forward_before_its_view_is_whole() -> None:
    """Node 2 stands before node 3 in its cluster, and has not heard of node 3 yet."""
    published = through_one_who_joins(PaperMachine)
    assert published.payloads(3) == []

    ours = through_one_who_joins(VCubePS)
    assert of_kind(ours, "PUB") == [(0, 2), (2, 3)]
    assert ours.payloads(3) == [b"news"]
    assert ours.payloads(2) == [b"news"]


def answers_to_what_came_before_it_joined(machine: MachineFactory) -> ChosenOrder:
    network = ChosenOrder(machine, 4, {CHAT: (0, 1)})
    network.publish(0, CHAT, b"question")
    network.run()
    network.subscribe(2, CHAT)
    network.run()
    network.publish(1, CHAT, b"answer")
    network.run()
    network.publish(1, CHAT, b"more")
    network.run()
    return network


def test_d_one_who_joins_must_not_wait_for_what_was_published_before() -> None:
    """Node 0 stays silent: first_rec never has an entry that would say the question will not come."""
    published = answers_to_what_came_before_it_joined(PaperMachine)
    assert {(1, 0), (1, 2)} <= set(of_kind(published, "PUB")), "it does receive them"
    assert published.payloads(2) == []

    ours = answers_to_what_came_before_it_joined(VCubePS)
    assert ours.payloads(2) == [b"answer", b"more"]
    assert len(of_kind(ours, "FENCE")) == 3, "one fence, to all the others"


def a_link_that_is_missing(machine: MachineFactory, *, back: bool) -> ChosenOrder:
    """Node 2 joins; if `back`, it has been here before."""
    network = ChosenOrder(machine, 4, {CHAT: (0, 1, 2) if back else (0, 1)})
    if back:
        network.unsubscribe(2, CHAT)
        network.run()
    network.subscribe(2, CHAT)
    network.arrive(2, 0, kind="SUB")
    network.publish(0, CHAT, b"m1")
    network.arrive(0, 1, kind="PUB")
    network.publish(1, CHAT, b"m2")  # node 1 does not know of node 2 yet
    network.arrive(1, 0, kind="PUB")
    network.arrive(0, 1, kind="ACK")
    slow = [(0, 2, "PUB")]
    network.run(hold=slow)
    network.publish(1, CHAT, b"m3")
    network.run(hold=slow)
    network.run()
    return network


@pytest.mark.parametrize("back", [False, True])
def test_e_m3_must_not_overtake_m1_where_m2_is_missing(back: bool) -> None:
    """m3 names m2 alone; that m2 will never come says nothing of m1, which m2 follows."""
    published = a_link_that_is_missing(PaperMachine, back=back)
    assert published.payloads(0) == published.payloads(1) == [b"m1", b"m2", b"m3"]
    assert published.payloads(2) == [b"m3", b"m1"]

    ours = a_link_that_is_missing(VCubePS, back=back)
    assert ours.payloads(0) == ours.payloads(1) == [b"m1", b"m2", b"m3"]
    assert ours.payloads(2) == [b"m1", b"m3"]


def a_gap_within_one_source(machine: MachineFactory) -> ChosenOrder:
    """e2 comes to node 7 through 4 and 6, who leave; node 5, who passes on e3, knows nothing of 7 yet."""
    network = ChosenOrder(machine, 8, {CHAT: (0, 1, 4, 5, 6)})
    slow = [(7, 3, "SUB"), (7, 5, "SUB")]
    network.subscribe(7, CHAT)
    network.run(hold=slow)
    network.publish(0, CHAT, b"e2")
    network.run(hold=slow)
    network.unsubscribe(4, CHAT)
    network.run(hold=slow)
    network.unsubscribe(6, CHAT)
    network.run(hold=slow)
    network.publish(0, CHAT, b"e3")
    network.run(hold=slow)
    network.run()
    network.publish(1, CHAT, b"answer to e3")
    network.run()
    network.publish(0, CHAT, b"e4")
    network.run()
    return network


def test_f_one_who_joins_may_miss_an_event_between_two_of_one_source() -> None:
    """first_rec vouches for what came before e2, and nothing for e3."""
    everything = [b"e2", b"e3", b"answer to e3", b"e4"]
    published = a_gap_within_one_source(PaperMachine)
    assert published.payloads(5) == everything
    assert published.payloads(7) == [b"e2"]

    ours = a_gap_within_one_source(VCubePS)
    assert ours.payloads(5) == everything
    assert ours.payloads(7) == [b"e2", b"answer to e3", b"e4"]
