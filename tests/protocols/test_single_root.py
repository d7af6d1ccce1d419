"""SRPT-S, SRPT-B and the fixed root by scripted calls: what one node sends and delivers, in order.

Eight nodes and, unless a test says otherwise, node 0 is the root. Its tree over all of them:
0 -> 4, 2, 1; 4 -> 6, 5; 2 -> 3; 6 -> 7.
"""

from collections.abc import Callable

import pytest
from recording_host import Deed, Delivered, Joined, RecordingHost, Sent

from treecast.core import (
    AlreadySubscribedError,
    Event,
    EventId,
    Message,
    NodeId,
    NotSubscribedError,
    PeerError,
    ScenarioError,
    Topic,
)
from treecast.protocols.baselines.fixed_root import FixedRoot
from treecast.protocols.baselines.messages import Graft, Grafted, Prune, RoutedPub, Sub, Uns, Welcome
from treecast.protocols.baselines.single_root import RootSettings, SingleRoot
from treecast.protocols.baselines.srpt import BrokerSettings, SrptB, SrptS
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Fence, Pub

CHAT = Topic("chat")
SOME = (0, 3, 5, 7)


def srpt(i: NodeId, members: tuple[NodeId, ...] = SOME, root: NodeId = 0) -> tuple[SrptS, RecordingHost]:
    host = RecordingHost()
    machine = SrptS(host, i, Setup(range(8), {CHAT: members}, RootSettings(root=root)))
    machine.start()
    host.take()
    return machine, host


def brokered(i: NodeId, members: tuple[NodeId, ...] = SOME) -> tuple[SrptB, RecordingHost]:
    """Nodes 0, 2, 4 and 6 are brokers."""
    host = RecordingHost()
    machine = SrptB(host, i, Setup(range(8), {CHAT: members}, BrokerSettings(root=0, brokers=4)))
    machine.start()
    host.take()
    return machine, host


def fixed(i: NodeId, members: tuple[NodeId, ...] = SOME) -> tuple[FixedRoot, RecordingHost]:
    host = RecordingHost()
    machine = FixedRoot(host, i, Setup(range(8), {CHAT: members}, RootSettings(root=0)))
    machine.start()
    host.take()
    return machine, host


def event(publisher: NodeId, sequence: int, *parents: tuple[NodeId, int], payload: bytes = b"") -> Event:
    return Event(EventId(publisher, sequence), CHAT, frozenset(EventId(*each) for each in parents), payload)


def to_each(nodes: tuple[NodeId, ...], message: Message) -> list[Deed]:
    return [Sent(to, message) for to in nodes]


# -- publishing, and the way down ----------------------------------------------------------


@pytest.mark.parametrize("make", [srpt, brokered, fixed])
def test_a_publisher_delivers_at_once_and_sends_to_the_root_alone(
    make: Callable[..., tuple[SingleRoot, RecordingHost]],
) -> None:
    machine, host = make(5)
    assert machine.publish(CHAT, b"hello") == EventId(5, 1)
    hello = event(5, 1, payload=b"hello")
    assert host.take() == [Delivered(hello), Sent(0, Pub(hello))]
    assert host.publications == [hello]


def test_the_root_passes_on_to_the_largest_cluster_first() -> None:
    """Node 1 is a branch without subscribers; 4 and 2 lead to some."""
    machine, host = srpt(0)
    machine.receive(5, Pub(event(5, 1)))
    assert host.take() == [*to_each((4, 2), Pub(event(5, 1))), Delivered(event(5, 1))]
    machine.publish(CHAT, b"")
    own = event(0, 1, (5, 1))
    assert host.take() == [Delivered(own), *to_each((4, 2), Pub(own))]


def test_a_root_need_not_be_subscribed() -> None:
    machine, host = srpt(1, root=1)
    machine.receive(5, Pub(event(5, 1)))
    assert host.take() == to_each((5, 3, 0), Pub(event(5, 1)))


def test_a_forwarder_passes_on_and_delivers_nothing() -> None:
    machine, host = srpt(4)
    machine.receive(0, Pub(event(0, 1)))
    assert host.take() == to_each((6, 5), Pub(event(0, 1)))


def test_a_publisher_passes_its_own_event_down_and_delivers_it_once() -> None:
    machine, host = srpt(4, members=(4, 5))
    machine.publish(CHAT, b"")
    host.take()
    machine.receive(0, Pub(event(4, 1)))
    assert host.take() == [Sent(5, Pub(event(4, 1)))]


def test_an_event_waits_for_its_parents_and_is_passed_on_all_the_same() -> None:
    machine, host = srpt(7, members=(7,))
    machine.receive(6, Pub(event(3, 1, (5, 1))))
    assert host.take() == []
    machine.receive(6, Pub(event(5, 1)))
    assert host.take() == [Delivered(event(5, 1)), Delivered(event(3, 1, (5, 1)))]


def test_every_node_draws_the_same_root_from_the_topics_name() -> None:
    topics = [Topic(f"t{number}") for number in range(200)]
    machines = [SrptS(RecordingHost(), node, Setup(range(8), {}, RootSettings())) for node in range(8)]
    roots = [{machine.root_of(topic) for machine in machines} for topic in topics]
    assert all(len(each) == 1 for each in roots)
    assert {root for each in roots for root in each} == set(range(8))


# -- subscribing to a pruned tree ----------------------------------------------------------


def test_who_subscribes_is_grafted_up_to_a_branch_that_stands_and_then_asks_the_root() -> None:
    """Node 5 is subscribed, so 4's branch stands; 6's does not."""
    newcomer, told = srpt(7, members=(5,))
    between, passed_up = srpt(6, members=(5,))
    above, answered = srpt(4, members=(5,))
    root, welcomed = srpt(0, members=(5,))
    root.receive(5, Pub(event(5, 1)))
    root.receive(5, Pub(event(5, 2)))
    welcomed.take()

    newcomer.subscribe(CHAT)
    assert told.take() == [Sent(6, Graft(CHAT, EventId(7, 1)))]
    between.receive(7, Graft(CHAT, EventId(7, 1)))
    assert passed_up.take() == [Sent(4, Graft(CHAT, EventId(6, 1)))]
    above.receive(6, Graft(CHAT, EventId(6, 1)))
    assert answered.take() == [Sent(6, Grafted(CHAT, EventId(6, 1)))]
    between.receive(4, Grafted(CHAT, EventId(6, 1)))
    assert passed_up.take() == [Sent(7, Grafted(CHAT, EventId(7, 1)))]
    newcomer.receive(6, Grafted(CHAT, EventId(7, 1)))
    assert told.take() == [Sent(0, Sub(CHAT, EventId(7, 2)))]
    root.receive(7, Sub(CHAT, EventId(7, 2)))
    welcome = Welcome(CHAT, EventId(7, 2), (EventId(5, 2),))
    assert welcomed.take() == [Sent(7, welcome)]
    newcomer.receive(0, welcome)
    assert told.take() == [Joined(CHAT)]

    above.receive(0, Pub(event(5, 3)))
    assert answered.take() == to_each((6, 5), Pub(event(5, 3)))
    between.receive(4, Pub(event(5, 3)))
    assert passed_up.take() == [Sent(7, Pub(event(5, 3)))]


def test_a_newcomer_leaves_out_what_the_root_had_passed_on_and_waits_for_none_of_it() -> None:
    machine, host = srpt(4, members=(5,))
    machine.subscribe(CHAT)
    assert host.take() == [Sent(0, Sub(CHAT, EventId(4, 1)))], "a forwarder has its branch already"
    machine.receive(0, Pub(event(5, 3, (5, 2))))
    machine.receive(0, Pub(event(5, 2, (5, 1))))
    host.take()
    machine.receive(0, Welcome(CHAT, EventId(4, 1), (EventId(5, 2),)))
    assert host.take() == [Joined(CHAT), Delivered(event(5, 3, (5, 2)))]
    machine.receive(0, Pub(event(5, 1)))
    assert host.take() == [Sent(5, Pub(event(5, 1)))], "passed on, and not delivered after 3"


def test_a_node_that_forwards_already_is_not_grafted_again() -> None:
    machine, host = srpt(6, members=())
    for child, counter in ((7, 1), (7, 3)):
        machine.receive(child, Graft(CHAT, EventId(child, counter)))
    machine.subscribe(CHAT)
    assert host.take() == [Sent(4, Graft(CHAT, EventId(6, 1)))]
    machine.receive(4, Grafted(CHAT, EventId(6, 1)))
    assert host.take() == [Sent(7, Grafted(CHAT, EventId(7, 3))), Sent(0, Sub(CHAT, EventId(6, 2)))]


def test_the_root_subscribes_without_a_message() -> None:
    machine, host = srpt(0, members=(5,))
    machine.subscribe(CHAT)
    assert host.take() == [Joined(CHAT)]


def test_a_branch_that_nobody_needs_is_pruned_from_below() -> None:
    machine, host = srpt(6, members=(6, 7))
    machine.unsubscribe(CHAT)
    assert host.take() == [], "7 is behind it"
    machine.receive(7, Prune(CHAT, EventId(7, 1)))
    assert host.take() == [Sent(4, Prune(CHAT, EventId(6, 1)))]
    machine.receive(4, Pub(event(5, 1)))
    assert host.take() == [], "what was on its way ends here"


def test_of_a_childs_operations_the_later_one_counts_in_whatever_order_they_come() -> None:
    machine, host = srpt(6, members=())
    machine.receive(7, Prune(CHAT, EventId(7, 2)))
    machine.receive(7, Graft(CHAT, EventId(7, 1)))
    assert host.take() == [], "taken back before it came"
    machine.receive(7, Graft(CHAT, EventId(7, 4)))
    machine.receive(7, Prune(CHAT, EventId(7, 3)))
    assert host.take() == [Sent(4, Graft(CHAT, EventId(6, 1)))]
    machine.receive(4, Grafted(CHAT, EventId(6, 1)))
    assert host.take() == [Sent(7, Grafted(CHAT, EventId(7, 4)))]


def test_the_answer_to_a_graft_taken_back_means_nothing() -> None:
    machine, host = srpt(7, members=())
    machine.subscribe(CHAT)
    machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    assert host.take() == [
        Sent(6, Graft(CHAT, EventId(7, 1))),
        Sent(6, Prune(CHAT, EventId(7, 2))),
        Sent(6, Graft(CHAT, EventId(7, 3))),
    ]
    machine.receive(6, Grafted(CHAT, EventId(7, 1)))
    assert host.take() == []
    machine.receive(6, Grafted(CHAT, EventId(7, 3)))
    assert host.take() == [Sent(0, Sub(CHAT, EventId(7, 4)))]


@pytest.mark.parametrize("make", [srpt, fixed])
def test_a_subscription_given_up_before_the_roots_answer_never_stands(
    make: Callable[..., tuple[SingleRoot, RecordingHost]],
) -> None:
    machine, host = make(4, (5,))
    machine.subscribe(CHAT)
    machine.unsubscribe(CHAT)
    host.take()
    machine.receive(0, Welcome(CHAT, EventId(4, 1), ()))
    assert host.take() == []


def test_what_waited_when_the_application_left_is_never_delivered() -> None:
    machine, host = srpt(7, members=(7,))
    machine.receive(6, Pub(event(3, 1, (5, 1))))
    machine.unsubscribe(CHAT)
    host.take()
    machine.receive(6, Pub(event(5, 1)))
    assert host.take() == []


# -- SRPT-B --------------------------------------------------------------------------------


def test_brokers_pass_on_to_brokers_first_and_then_to_their_own_subscribers() -> None:
    machine, host = brokered(0, members=(1, 3, 5))
    machine.receive(5, Pub(event(5, 1)))
    assert host.take() == to_each((4, 2, 1), Pub(event(5, 1)))
    machine, host = brokered(4, members=(1, 3, 5))
    machine.receive(0, Pub(event(5, 1)))
    assert host.take() == [Sent(5, Pub(event(5, 1)))]


def test_who_is_no_broker_is_grafted_to_the_broker_before_it() -> None:
    machine, host = brokered(7, members=())
    machine.subscribe(CHAT)
    assert host.take() == [Sent(6, Graft(CHAT, EventId(7, 1)))]
    machine.receive(6, Pub(event(5, 1)))
    assert host.take() == [Delivered(event(5, 1))], "a leaf passes nothing on"


def test_one_node_in_sixteen_is_a_broker_unless_told() -> None:
    machine = SrptB(RecordingHost(), 0, Setup(range(64), {CHAT: tuple(range(64))}, BrokerSettings(root=48)))
    assert machine.root_of(CHAT) == 48
    with pytest.raises(ScenarioError, match=r"root = 8 .* one of the 4 nodes from 0 to 48"):
        SrptB(RecordingHost(), 0, Setup(range(64), {}, BrokerSettings(root=8)))
    with pytest.raises(ScenarioError, match=r"brokers = 9; there are only 8 nodes"):
        SrptB(RecordingHost(), 0, Setup(range(8), {}, BrokerSettings(brokers=9)))


# -- the fixed root ------------------------------------------------------------------------


def test_the_root_grows_vcubes_tree_over_the_members_and_names_those_behind_each() -> None:
    root, host = fixed(0)
    root.receive(7, Pub(event(7, 1)))
    assert host.take() == [
        Sent(5, RoutedPub(event(7, 1), (5, 7))),
        Sent(3, RoutedPub(event(7, 1), (3,))),
        Delivered(event(7, 1)),
    ]
    inner, host = fixed(5)
    inner.receive(0, RoutedPub(event(7, 1), (5, 7)))
    assert host.take() == [Sent(7, RoutedPub(event(7, 1), (7,))), Delivered(event(7, 1))]


def test_the_root_takes_members_in_and_out_by_their_latest_operation() -> None:
    root, host = fixed(0, members=(0, 3))
    root.receive(6, Sub(CHAT, EventId(6, 1)))
    assert host.take() == [Sent(6, Welcome(CHAT, EventId(6, 1), ()))]
    root.receive(6, Sub(CHAT, EventId(6, 3)))
    root.receive(6, Uns(CHAT, EventId(6, 2)))
    root.receive(3, Uns(CHAT, EventId(3, 2)))
    root.receive(3, Sub(CHAT, EventId(3, 1)))
    host.take()
    root.receive(6, Pub(event(6, 4)))
    assert host.take() == [Sent(6, RoutedPub(event(6, 4), (6,))), Delivered(event(6, 4))]


def test_subscribing_and_leaving_are_told_to_the_root_alone() -> None:
    machine, host = fixed(6)
    machine.subscribe(CHAT)
    machine.receive(0, Welcome(CHAT, EventId(6, 1), ()))
    machine.unsubscribe(CHAT)
    assert host.take() == [Sent(0, Sub(CHAT, EventId(6, 1))), Joined(CHAT), Sent(0, Uns(CHAT, EventId(6, 2)))]


# -- what cannot be ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [srpt, brokered, fixed])
def test_what_an_application_cannot_do_is_refused_and_the_refusal_says_why(
    make: Callable[..., tuple[SingleRoot, RecordingHost]],
) -> None:
    machine, host = make(6)
    with pytest.raises(NotSubscribedError, match="node 6 cannot publish to 'chat': it is not subscribed"):
        machine.publish(CHAT, b"")
    with pytest.raises(NotSubscribedError, match="node 6 cannot unsubscribe from 'chat'"):
        machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    with pytest.raises(AlreadySubscribedError, match="node 6 is subscribed to 'chat' already"):
        machine.subscribe(CHAT)
    assert len(host.take()) == 1


@pytest.mark.parametrize(
    ("machine", "sender", "message", "said"),
    [
        (srpt(5)[0], 7, Graft(CHAT, EventId(7, 1)), r"node 7 sent a GRAFT .* not its parent; that is 6"),
        (srpt(5)[0], 7, Sub(CHAT, EventId(7, 1)), r"node 7 sent a SUB .* to node 5; its root is node 0"),
        (srpt(5)[0], 7, Uns(CHAT, EventId(7, 1)), "sent a UNS, which SrptS does not know"),
        (srpt(0)[0], 7, Fence(CHAT, EventId(7, 1)), "sent a FENCE, which SrptS does not know"),
        (brokered(7)[0], 5, Graft(CHAT, EventId(5, 1)), "which is not its parent; that is 4"),
        (fixed(5)[0], 7, Sub(CHAT, EventId(7, 1)), "its root is node 0"),
        (fixed(5)[0], 7, Uns(CHAT, EventId(7, 1)), "its root is node 0"),
        (fixed(5)[0], 7, Pub(event(7, 1)), r"sent a PUB .* its root is node 0"),
        (fixed(0)[0], 7, Graft(CHAT, EventId(7, 1)), "sent a GRAFT, which FixedRoot does not know"),
    ],
)
def test_a_message_out_of_place_is_the_peers_error(
    machine: SingleRoot, sender: NodeId, message: Message, said: str
) -> None:
    with pytest.raises(PeerError, match=said):
        machine.receive(sender, message)


def test_no_timer_runs() -> None:
    with pytest.raises(AssertionError, match="SrptS sets no timers"):
        srpt(0)[0].timer("round")
