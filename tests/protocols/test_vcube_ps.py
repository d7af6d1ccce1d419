"""VCube-PS by scripted calls: what one node sends and delivers, in the order that it does so.

Eight nodes; on `chat`, unless a test says otherwise, t2 of the paper's figure 3 subscribes.
"""

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
    Topic,
)
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Ack, Fence, Membership, Pub, Sub, Uns
from treecast.protocols.vcube.vcube_ps import VCubePS

CHAT = Topic("chat")
NEWS = Topic("news")
T2 = (0, 2, 3, 5, 7)


def node(i: NodeId, members: tuple[NodeId, ...] = T2, nodes: int = 8) -> tuple[VCubePS, RecordingHost]:
    """Node i, started."""
    host = RecordingHost()
    machine = VCubePS(host, i, Setup(range(nodes), {CHAT: members}))
    machine.start()
    host.take()
    return machine, host


def joined_node(i: NodeId, *, learns: tuple[Membership, ...] = ()) -> tuple[VCubePS, RecordingHost]:
    """Node i, who has subscribed alone; its SUB is (i, 1), and has been acknowledged."""
    machine, host = node(i, members=())
    machine.subscribe(CHAT)
    sent = [deed.to for deed in host.take() if isinstance(deed, Sent)]
    for child in sent:
        machine.receive(child, Ack(CHAT, EventId(i, 1), learns if child == sent[-1] else ()))
    assert host.take() == [Joined(CHAT)]
    return machine, host


def event(
    publisher: NodeId, sequence: int, *parents: tuple[NodeId, int], payload: bytes = b"", topic: Topic = CHAT
) -> Event:
    return Event(EventId(publisher, sequence), topic, frozenset(EventId(*each) for each in parents), payload)


def ack(publisher: NodeId, sequence: int, *news: Membership) -> Ack:
    return Ack(CHAT, EventId(publisher, sequence), news)


def standing(i: NodeId) -> Membership:
    """What node i says of a subscription that stood from the beginning."""
    return Membership(i, True, 0, 0)


def to_each(nodes: tuple[NodeId, ...], message: Message) -> list[Deed]:
    return [Sent(to, message) for to in nodes]


# -- the application's side ----------------------------------------------------------------


def test_a_standing_subscription_is_told_at_the_start() -> None:
    host = RecordingHost()
    VCubePS(host, 3, Setup(range(8), {CHAT: T2, NEWS: (1, 3)})).start()
    assert host.take() == [Joined(CHAT), Joined(NEWS)]
    VCubePS(host, 4, Setup(range(8), {CHAT: T2})).start()
    assert host.take() == []


def test_a_publisher_delivers_at_once_and_sends_to_the_largest_cluster_first() -> None:
    machine, host = node(2)
    assert machine.publish(CHAT, b"hello") == EventId(2, 1)
    hello = event(2, 1, payload=b"hello")
    assert host.take() == [Delivered(hello), *to_each((7, 0, 3), Pub(hello))]


def test_any_number_of_publications_waits_for_the_subscription_to_stand() -> None:
    """Nobody else is subscribed, so each is at its end as soon as it begins: in a loop, not a recursion."""
    machine, host = node(6, members=())
    machine.subscribe(CHAT)
    for _ in range(5_000):
        machine.publish(CHAT, b"")
    assert sum(isinstance(deed, Sent) for deed in host.take()) == 3
    for child in (2, 4, 7):
        machine.receive(child, ack(6, 1))
    assert host.take() == [Joined(CHAT)]
    machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    assert [deed.message for deed in host.take() if isinstance(deed, Sent)] == [
        Sub(CHAT, EventId(6, 5_003))
    ] * 3


def test_a_subscription_goes_to_all_nodes_and_stands_when_all_have_answered() -> None:
    machine, host = node(6)
    machine.subscribe(CHAT)
    assert host.take() == to_each((2, 4, 7), Sub(CHAT, EventId(6, 1)))
    machine.receive(7, ack(6, 1, standing(7)))
    machine.receive(4, ack(6, 1, standing(5)))
    assert host.take() == []
    machine.receive(2, ack(6, 1, standing(0), standing(2), standing(3)))
    assert host.take() == [Joined(CHAT)]
    machine.publish(CHAT, b"")
    assert host.take() == [Delivered(event(6, 2)), *to_each((2, 5, 7), Pub(event(6, 2)))]


def test_what_cannot_be_done_is_refused_and_the_refusal_says_why() -> None:
    machine, host = node(6)
    with pytest.raises(NotSubscribedError, match="node 6 cannot publish to 'chat': it is not subscribed"):
        machine.publish(CHAT, b"")
    with pytest.raises(NotSubscribedError, match=r"node 6 cannot unsubscribe from 'chat'.*subscribe first"):
        machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    with pytest.raises(AlreadySubscribedError, match="node 6 is subscribed to 'chat' already"):
        machine.subscribe(CHAT)
    machine.unsubscribe(CHAT)
    host.take()
    with pytest.raises(NotSubscribedError, match="cannot publish"):
        machine.publish(CHAT, b"")
    assert host.take() == []


def test_the_next_broadcast_waits_until_all_have_acknowledged_the_last() -> None:
    machine, host = node(2)
    machine.publish(CHAT, b"one")
    machine.publish(CHAT, b"two")
    one, two = event(2, 1, payload=b"one"), event(2, 2, (2, 1), payload=b"two")
    assert host.take() == [Delivered(one), *to_each((7, 0, 3), Pub(one)), Delivered(two)]
    machine.receive(3, ack(2, 1))
    machine.receive(7, ack(2, 1))
    assert host.take() == []
    machine.receive(0, ack(2, 1))
    assert host.take() == to_each((7, 0, 3), Pub(two))


def test_topics_do_not_wait_for_one_another() -> None:
    host = RecordingHost()
    machine = VCubePS(host, 2, Setup(range(8), {CHAT: T2, NEWS: (1, 2)}))
    machine.publish(CHAT, b"")
    host.take()
    machine.publish(NEWS, b"")
    other = event(2, 2, topic=NEWS)
    assert host.take() == [Delivered(other), Sent(1, Pub(other))]


def test_who_is_alone_needs_no_answer() -> None:
    machine, host = node(0, members=(0,), nodes=1)
    machine.publish(CHAT, b"")
    machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    machine.publish(CHAT, b"")
    assert host.take() == [Delivered(event(0, 1)), Joined(CHAT), Delivered(event(0, 4, (0, 1)))]


# -- down the tree and back up -------------------------------------------------------------


def test_an_inner_node_acknowledges_when_all_behind_it_have() -> None:
    machine, host = node(4, members=tuple(range(8)))
    hello = event(0, 1)
    machine.receive(0, Pub(hello))
    assert host.take() == [*to_each((6, 5), Pub(hello)), Delivered(hello)]
    machine.receive(6, ack(0, 1))
    assert host.take() == []
    machine.receive(5, ack(0, 1))
    assert host.take() == [Sent(0, ack(0, 1))]


def test_an_inner_node_learns_from_what_the_acknowledgements_carry() -> None:
    machine, host = node(4, members=(0, 4, 5))
    machine.receive(0, Pub(event(0, 1)))
    machine.receive(5, ack(0, 1, Membership(7, True, 1, 0)))
    host.take()
    machine.receive(0, Pub(event(0, 2, (0, 1))))
    assert host.take()[:2] == to_each((7, 5), Pub(event(0, 2, (0, 1))))


def test_a_leaf_acknowledges_at_once() -> None:
    machine, host = node(5)
    hello = event(2, 1)
    machine.receive(7, Pub(hello))
    assert host.take() == [Sent(7, ack(2, 1)), Delivered(hello)]


def test_an_event_waits_for_its_parents_and_is_passed_on_all_the_same() -> None:
    machine, host = node(7)
    question, answer = event(0, 1), event(2, 2, (0, 1))
    machine.receive(2, Pub(answer))
    assert host.take() == [Sent(5, Pub(answer))]
    machine.receive(0, Pub(question))
    assert host.take() == [Sent(5, Pub(question)), Delivered(question), Delivered(answer)]


def test_a_node_that_never_subscribed_passes_a_subscription_on_and_has_nothing_to_say() -> None:
    machine, host = node(4)
    machine.receive(0, Sub(CHAT, EventId(0, 1)))
    assert host.take() == to_each((6, 5), Sub(CHAT, EventId(0, 1)))
    machine.receive(6, ack(0, 1, standing(7)))
    machine.receive(5, ack(0, 1, standing(5)))
    assert host.take() == [Sent(0, ack(0, 1, standing(7), standing(5)))]


def test_a_subscriber_tells_a_newcomer_of_itself_and_takes_it_into_its_view() -> None:
    machine, host = node(5)
    machine.receive(4, Sub(CHAT, EventId(4, 1)))
    assert host.take() == [Sent(4, ack(4, 1, standing(5)))]
    machine.publish(CHAT, b"")
    assert host.take() == [Delivered(event(5, 1)), *to_each((0, 7, 4), Pub(event(5, 1)))]


def test_an_unsubscription_is_taken_out_of_the_view_and_comes_back_only_by_a_later_operation() -> None:
    machine, host = node(2, members=(2, 3))
    machine.receive(3, Uns(CHAT, EventId(3, 8)))
    assert host.take() == [Sent(3, ack(3, 8))]
    machine.publish(CHAT, b"")
    assert host.take() == [Delivered(event(2, 1))], "nobody is left"
    machine.receive(3, Sub(CHAT, EventId(3, 7)))
    machine.publish(CHAT, b"")
    assert Sent(3, Pub(event(2, 2, (2, 1)))) not in host.take(), "a subscription from before it left"
    machine.receive(3, Sub(CHAT, EventId(3, 9)))
    machine.publish(CHAT, b"")
    assert Sent(3, Pub(event(2, 3, (2, 2)))) in host.take()


# -- leaving and coming back ---------------------------------------------------------------


def test_an_unsubscription_goes_to_those_it_had_in_view_after_what_was_queued() -> None:
    machine, host = node(2)
    machine.publish(CHAT, b"")
    machine.unsubscribe(CHAT)
    host.take()
    for child in (0, 3, 7):
        assert host.take() == []
        machine.receive(child, ack(2, 1))
    assert host.take() == to_each((7, 0, 3), Uns(CHAT, EventId(2, 2)))


def test_who_has_left_still_passes_on_and_says_that_it_has_left() -> None:
    machine, host = node(7)
    machine.unsubscribe(CHAT)
    host.take()
    left = Membership(7, False, 1, 0)
    hello = event(2, 1)
    machine.receive(2, Pub(hello))
    assert host.take() == [Sent(5, Pub(hello))], "passed on, not delivered"
    machine.receive(5, ack(2, 1))
    assert host.take() == [Sent(2, ack(2, 1, left))]
    machine.receive(0, Sub(CHAT, EventId(4, 1)))
    machine.receive(0, Pub(event(0, 1)))
    assert Sent(5, Pub(event(0, 1))) in host.take(), "its view is kept"
    machine.receive(2, Sub(CHAT, EventId(6, 1)))
    host.take()
    machine.receive(2, Pub(event(2, 2)))
    assert host.take() == to_each((5, 6), Pub(event(2, 2))), "and kept up to date"


def test_what_waited_when_the_application_left_is_never_delivered_not_even_after_coming_back() -> None:
    machine, host = node(5)
    machine.receive(7, Pub(event(2, 2, (0, 1))))
    machine.unsubscribe(CHAT)
    machine.receive(4, Pub(event(0, 1)))
    machine.subscribe(CHAT)
    assert not any(isinstance(deed, Delivered) for deed in host.take())
    for child in (0, 7):
        machine.receive(child, ack(5, 1))
    host.take()
    for child in (1, 7, 4):
        machine.receive(child, ack(5, 2))
    assert host.take() == [Joined(CHAT)]


def test_coming_back_waits_for_the_goodbye_and_keeps_the_view() -> None:
    machine, host = node(5)
    machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    machine.publish(CHAT, b"again")
    again = event(5, 3, payload=b"again")
    assert host.take() == [*to_each((0, 7), Uns(CHAT, EventId(5, 1))), Delivered(again)]
    for child in (0, 7):
        machine.receive(child, ack(5, 1))
    assert host.take() == to_each((1, 7, 4), Sub(CHAT, EventId(5, 2)))
    for child in (1, 7, 4):
        machine.receive(child, ack(5, 2))
    assert host.take() == [Joined(CHAT), *to_each((0, 7), Pub(again))]


def test_a_subscription_given_up_before_it_stands_never_does() -> None:
    machine, host = node(6)
    machine.subscribe(CHAT)
    machine.unsubscribe(CHAT)
    host.take()
    for child, news in ((2, (standing(0), standing(2))), (4, ()), (7, ())):
        machine.receive(child, ack(6, 1, *news))
    assert host.take() == [Sent(2, Uns(CHAT, EventId(6, 2)))]


# -- joining -------------------------------------------------------------------------------


def test_who_joins_delivers_but_passes_on_only_when_its_view_is_whole() -> None:
    machine, host = node(4)
    machine.subscribe(CHAT)
    host.take()
    hello = event(0, 1)
    machine.receive(0, Pub(hello))
    assert host.take() == [Delivered(hello)]
    machine.receive(0, ack(4, 1, standing(0), standing(2), standing(3)))
    machine.receive(6, ack(4, 1, standing(7)))
    assert host.take() == []
    machine.receive(5, ack(4, 1, standing(5)))
    assert host.take() == [*to_each((7, 5), Pub(hello)), Joined(CHAT)]


def test_who_joins_as_a_leaf_acknowledges_at_once_and_says_that_it_subscribes() -> None:
    machine, host = node(4)
    machine.subscribe(CHAT)
    host.take()
    hello = event(5, 1)
    machine.receive(5, Pub(hello))
    assert host.take() == [Sent(5, ack(5, 1, Membership(4, True, 1, 0))), Delivered(hello)]


def test_who_has_joined_asks_for_a_fence_once_something_waits_and_then_skips_what_will_not_come() -> None:
    machine, host = joined_node(1, learns=(standing(0), standing(2)))
    early = event(2, 6)
    machine.receive(0, Pub(early))
    assert host.take() == [Sent(0, ack(2, 6)), Delivered(early)]
    reply, further = event(0, 4, (4, 3)), event(0, 5, (0, 4))
    fence = Fence(CHAT, EventId(1, 7))
    machine.receive(0, Pub(reply))
    assert host.take() == [Sent(0, ack(0, 4)), *to_each((5, 3, 0), fence)]
    machine.receive(0, Pub(further))
    assert host.take() == [Sent(0, ack(0, 5))], "one fence serves all"
    machine.receive(5, ack(1, 7))
    machine.receive(3, ack(1, 7, Membership(2, True, 0, 6), Membership(4, False, 5, 3)))
    assert host.take() == []
    machine.receive(0, ack(1, 7, Membership(0, True, 0, 3)))
    assert host.take() == [Delivered(reply), Delivered(further)]


def test_what_waits_already_when_the_subscription_stands_needs_the_fence_too() -> None:
    machine, host = node(1, members=())
    machine.subscribe(CHAT)
    machine.receive(0, Pub(event(0, 4, (4, 3))))
    host.take()
    for child in (0, 3, 5):
        assert host.take() == []
        machine.receive(child, ack(1, 1))
    assert host.take() == [Joined(CHAT), *to_each((5, 3, 0), Fence(CHAT, EventId(1, 2)))]


def test_who_comes_back_asks_for_no_fence_before_it_has_left() -> None:
    """The fence would end while nodes still send by the view that lacks the new subscription."""
    machine, host = node(5)
    machine.publish(CHAT, b"")
    machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    host.take()
    machine.receive(4, Pub(event(0, 4, (2, 3))))
    assert host.take() == [Sent(4, ack(0, 4, standing(5)))]


def test_the_fence_of_a_subscription_that_is_over_releases_nothing() -> None:
    machine, host = joined_node(1, learns=(standing(0),))
    machine.receive(0, Pub(event(0, 4, (2, 3))))
    fences = [deed for deed in host.take() if isinstance(deed, Sent) and deed.message.kind == "FENCE"]
    machine.unsubscribe(CHAT)
    machine.subscribe(CHAT)
    machine.receive(0, Pub(event(0, 5, (0, 4))))
    host.take()
    for fence in fences:
        assert fence.message.origin is not None
        machine.receive(fence.to, ack(*fence.message.origin, Membership(0, True, 0, 5)))
    assert host.take() == []


@pytest.mark.parametrize("i", [1, 3])
def test_a_fence_is_held_until_the_own_broadcast_has_been_acknowledged(i: NodeId) -> None:
    machine, host = node(i, members=(i, 4))
    machine.publish(CHAT, b"")
    child = 4
    host.take()
    machine.receive(0, Fence(CHAT, EventId(0, 9)))
    passed_on = host.take()
    assert passed_on == ([] if i == 1 else to_each((2,), Fence(CHAT, EventId(0, 9))))
    for deed in passed_on:
        assert isinstance(deed, Sent)
        machine.receive(deed.to, ack(0, 9))
    machine.publish(CHAT, b"")
    host.take()
    machine.receive(child, ack(i, 1))
    after = host.take()
    assert after == [
        Sent(0, ack(0, 9, Membership(i, True, 0, 1))),
        Sent(child, Pub(event(i, 2, (i, 1)))),
    ], "the answer vouches for what is done, and the next broadcast does not hold it up"


def test_a_fence_passes_who_has_nothing_under_way() -> None:
    machine, host = node(1, members=(1, 4))
    machine.receive(0, Fence(CHAT, EventId(0, 9)))
    assert host.take() == [Sent(0, ack(0, 9, standing(1)))]
    stranger, host = node(1, members=(4,))
    stranger.receive(0, Fence(CHAT, EventId(0, 9)))
    assert host.take() == [Sent(0, ack(0, 9))]


# -- counters and the peers' mistakes ------------------------------------------------------


def test_counters_go_on_from_the_highest_delivered() -> None:
    machine, host = node(3)
    machine.receive(2, Pub(event(2, 41)))
    assert machine.publish(CHAT, b"") == EventId(3, 42)
    machine.receive(2, Pub(event(2, 7, topic=CHAT)))
    assert machine.publish(CHAT, b"") == EventId(3, 43)
    machine.receive(2, Pub(event(2, 90, (0, 80))))
    assert machine.publish(CHAT, b"") == EventId(3, 44), "what waits has not been delivered"
    host.take()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (Pub(event(2, 1, topic=NEWS)), "node 2 sent a PUB on 'news' to node 3, which has never subscribed"),
        (Uns(NEWS, EventId(2, 1)), "node 2 sent a UNS on 'news' to node 3, which has never subscribed"),
        (ack(3, 17), r"ACK for EventId\(publisher=3, sequence=17\), which node 3 has not passed on"),
    ],
)
def test_a_message_out_of_place_is_the_peers_error(message: Message, said: str) -> None:
    machine, host = node(3)
    with pytest.raises(PeerError, match=said):
        machine.receive(2, message)
    assert host.take() == []
    machine.receive(2, Pub(event(2, 1)))
    assert host.take() == [Sent(2, ack(2, 1)), Delivered(event(2, 1))], "the node goes on"


class Gossip(Sub, frozen=True):
    """A message of some other protocol."""

    kind = "GOSSIP"


def test_a_message_of_another_protocol_is_named_in_the_refusal() -> None:
    machine, _ = node(3)
    with pytest.raises(PeerError, match="node 2 sent a GOSSIP, which VCube-PS does not know"):
        machine.receive(2, Gossip(CHAT, EventId(2, 1)))


def test_no_timer_runs() -> None:
    machine, _ = node(3)
    with pytest.raises(AssertionError, match="VCube-PS sets no timers, but 'tick' ran out"):
        machine.timer("tick")
