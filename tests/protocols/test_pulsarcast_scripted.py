"""Pulsarcast by scripted calls on the recording host: joining, publishing, fetching, each step on its own."""

import pytest
from recording_host import Answered, CutOff, Delivered, Hangs, Joined, RecordingHost, Sent

from treecast.core import EventId, NodeId, NotSubscribedError, Topic, UsageError
from treecast.protocols.pulsarcast.dht_messages import FindNode, Nodes, Ping, Store, Stored
from treecast.protocols.pulsarcast.identity import key_of
from treecast.protocols.pulsarcast.kademlia import Timeout
from treecast.protocols.pulsarcast.messages import (
    Ask,
    Beat,
    BeatBack,
    Given,
    Join,
    Leave,
    Pub,
    Refuse,
    TreeMessage,
    Wait,
    Want,
    Welcome,
)
from treecast.protocols.pulsarcast.places import State
from treecast.protocols.pulsarcast.publishing import WINDOW_FIRST
from treecast.protocols.pulsarcast.pulsarcast import Pulsarcast
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.pulsarcast.topics import TopicBook
from treecast.protocols.setup import Setup

TOPIC = Topic("news")
NODES = tuple(range(8))
AUTHOR = 0
NEAR, *FAR = sorted(NODES[1:], key=lambda node: key_of(node) ^ key_of(AUTHOR))
"""The node nearest to the author, and the others, nearer ones first."""
SETTINGS = PulsarcastSettings(k=20)
SETUP = Setup(NODES, {TOPIC: (AUTHOR,)}, SETTINGS)
DESCRIPTOR = TopicBook(SETUP).known(TOPIC).descriptor.encode()


def machine(node: NodeId, setup: Setup = SETUP) -> tuple[RecordingHost, Pulsarcast]:
    host = RecordingHost()
    found = Pulsarcast(host, node, setup)
    found.start()
    host.take()
    return host, found


def sent(host: RecordingHost, kind: type = TreeMessage) -> list[tuple[NodeId, TreeMessage]]:
    """Messages of that kind since this was last asked."""
    deeds = [each for each in host.take() if isinstance(each, Sent)]
    return [(each.to, each.message) for each in deeds if isinstance(each.message, kind)]


def member(node: NodeId, setup: Setup = SETUP) -> tuple[RecordingHost, Pulsarcast]:
    """A node that hangs below the author."""
    host, found = machine(node, setup)
    found.trees.learn(found.trees.place(TOPIC), DESCRIPTOR)
    found.receive(AUTHOR, Ping(EventId(AUTHOR, 1)))
    found.subscribe(TOPIC)
    ((to, join),) = sent(host, Join)
    assert to == AUTHOR
    found.receive(AUTHOR, Welcome(TOPIC, join.origin, (), ()))
    assert [type(each) for each in host.take()[:3]][1:] == [Hangs, Joined]
    return host, found


def test_a_join_goes_to_the_closest_known_peer_that_is_closer_than_the_node_itself() -> None:
    host, found = machine(FAR[-1])
    found.trees.learn(found.trees.place(TOPIC), DESCRIPTOR)
    for node in FAR[:-1]:
        found.receive(node, Ping(EventId(node, 1)))
    host.take()
    found.subscribe(TOPIC)
    ((to, join),) = sent(host, Join)
    assert to == FAR[0]
    assert isinstance(join, Join)
    assert join.descriptor == DESCRIPTOR


def test_whoever_is_not_closer_refuses_to_be_the_parent() -> None:
    host, found = machine(FAR[2])
    found.receive(FAR[3], Join(TOPIC, EventId(FAR[3], 1), b"no descriptor", ()))
    assert host.counts["join refused: bad descriptor"] == 1
    found.receive(FAR[1], Join(TOPIC, EventId(FAR[1], 1), DESCRIPTOR, ()))
    assert sent(host) == [(FAR[1], Refuse(TOPIC, EventId(FAR[1], 1)))]
    assert not found.trees.place(TOPIC).children
    assert host.counts["join refused: not closer to the author"] == 1


def test_a_child_waits_until_its_parent_has_a_place_itself() -> None:
    host, found = machine(FAR[0])
    found.receive(AUTHOR, Ping(EventId(AUTHOR, 1)))
    host.take()
    found.receive(FAR[3], Join(TOPIC, EventId(FAR[3], 7), DESCRIPTOR, ()))
    (first, wait), (second, join) = sent(host)
    assert (first, wait) == (FAR[3], Wait(TOPIC, EventId(FAR[3], 7)))
    assert second == AUTHOR
    found.receive(AUTHOR, Welcome(TOPIC, join.origin, (), ()))
    deeds = host.take()
    assert Hangs(TOPIC, AUTHOR) in deeds
    assert Sent(FAR[3], Welcome(TOPIC, EventId(FAR[3], 7), (), ())) in deeds


def test_the_children_of_who_leaves_are_given_its_parent() -> None:
    host, found = member(FAR[0])
    found.receive(FAR[4], Join(TOPIC, EventId(FAR[4], 1), DESCRIPTOR, ()))
    host.take()
    found.unsubscribe(TOPIC)
    deeds = host.take()
    leaves = {each.to: each.message.heir for each in deeds if isinstance(each, Sent)}  # type: ignore[attr-defined]
    assert leaves == {FAR[4]: AUTHOR, AUTHOR: None}
    assert CutOff(TOPIC) in deeds
    assert found.trees.place(TOPIC).state is State.OUT


def test_whoever_is_told_of_an_heir_joins_it_at_once() -> None:
    host, found = member(FAR[4])
    found.receive(AUTHOR, Leave(TOPIC, EventId(AUTHOR, 5), FAR[1]))
    assert [(to, type(message)) for to, message in sent(host)] == [(FAR[1], Join)]


def test_a_beat_from_a_stranger_is_refused_and_the_refused_joins_again() -> None:
    host, found = member(FAR[2])
    found.receive(FAR[5], Beat(TOPIC, EventId(FAR[5], 3), ()))
    assert sent(host) == [(FAR[5], Refuse(TOPIC, EventId(FAR[5], 3)))]
    found.receive(AUTHOR, Refuse(TOPIC, EventId(FAR[2], 99)))
    assert found.trees.place(TOPIC).state is State.SEEKING


def test_nothing_is_answered_before_it_is_stored_and_a_window_bounds_what_is_stored() -> None:
    host, found = machine(AUTHOR)
    found.receive(1, Ping(EventId(1, 1)))
    host.take()
    requests = [found.publish(TOPIC, b"%d" % number) for number in range(20)]
    deeds = host.take()
    assert len([each for each in deeds if isinstance(each, Delivered)]) == WINDOW_FIRST
    assert not [each for each in deeds if isinstance(each, Answered)]
    answered: list[EventId] = []
    questions = [each.message for each in deeds if isinstance(each, Sent)]
    under_way = WINDOW_FIRST
    while questions:
        question = questions.pop(0)
        if isinstance(question, FindNode):
            found.receive(1, Nodes(question.origin, ()))
        elif isinstance(question, Store):
            found.receive(1, Stored(question.origin, True))
        for deed in host.take():
            if isinstance(deed, Sent):
                questions.append(deed.message)
            under_way += isinstance(deed, Delivered)
            if isinstance(deed, Answered):
                under_way -= 1
                assert deed.event is not None
                answered.append(deed.request)
        assert under_way <= SETTINGS.window_max
    assert answered == requests


def test_the_window_halves_when_the_dht_does_not_answer() -> None:
    host, found = machine(AUTHOR)
    found.receive(1, Ping(EventId(1, 1)))
    for number in range(20):
        found.publish(TOPIC, b"%d" % number)
    host.take()
    host.clock_us += round(SETTINGS.rpc_timeout_ms * 1000)
    found.timer(Timeout())
    begun = [each for each in host.take() if isinstance(each, Delivered)]
    assert 0 < len(begun) <= WINDOW_FIRST / 2


def test_whoever_may_not_publish_asks_its_parent() -> None:
    setup = Setup(NODES, {TOPIC: (AUTHOR,)}, PulsarcastSettings(publishers="author"))
    descriptor = TopicBook(setup).known(TOPIC).descriptor.encode()
    host, found = machine(FAR[0], setup)
    found.trees.learn(found.trees.place(TOPIC), descriptor)
    found.receive(AUTHOR, Ping(EventId(AUTHOR, 1)))
    found.subscribe(TOPIC)
    ((_, join),) = sent(host, Join)
    found.receive(AUTHOR, Welcome(TOPIC, join.origin, (), ()))
    host.take()
    found.publish(TOPIC, b"please")
    ((to, ask),) = sent(host, Ask)
    assert to == AUTHOR
    assert isinstance(ask, Ask)

    author_host, author = machine(AUTHOR, setup)
    author.receive(FAR[0], Join(TOPIC, EventId(FAR[0], 1), descriptor, ()))
    forged = Ask(TOPIC, ask.origin, ask.data, bytes(64))
    author.receive(FAR[0], forged)
    assert author_host.counts["request refused: bad signature"] == 1
    assert not author_host.publications
    author.receive(FAR[0], ask)
    author.receive(FAR[0], ask)
    assert [event.payload for event in author_host.publications] == [b"please"], "published once"


def test_what_an_event_links_to_is_waited_for_and_fetched_from_who_told_of_it() -> None:
    author_host, author = machine(AUTHOR)
    author.publish(TOPIC, b"one")
    author.publish(TOPIC, b"two")
    first, second = (record.carried for record in author.trees.place(TOPIC).history.records.values())
    host, found = member(FAR[0])
    found.receive(AUTHOR, Pub(TOPIC, second.id, second))
    assert not [each for each in host.take() if isinstance(each, Delivered)]
    host.clock_us += round(SETTINGS.fetch_ms * 1000)
    found._fetch(found.trees.place(TOPIC))
    ((to, want),) = sent(host, Want)
    assert to == AUTHOR
    assert isinstance(want, Want)
    assert want.events == (first.cid,)
    found.receive(AUTHOR, Given(TOPIC, want.origin, (first,)))
    events = [each.event for each in host.take() if isinstance(each, Delivered)]
    assert [event.payload for event in events] == [b"one", b"two"]
    assert events[1].parents == {events[0].id}
    found.receive(AUTHOR, Pub(TOPIC, second.id, second))
    assert host.counts["event: duplicate"] == 1
    found.receive(AUTHOR, BeatBack(TOPIC, EventId(FAR[0], 1), (second.cid,)))
    assert not found.trees.place(TOPIC).history.lacks
    assert author_host.counts == {}


def test_whoever_is_not_subscribed_cannot_publish_and_unknown_parents_are_refused() -> None:
    _, found = machine(FAR[0])
    with pytest.raises(NotSubscribedError, match="neither subscribed nor registered"):
        found.publish(TOPIC, b"")
    _, author = machine(AUTHOR)
    with pytest.raises(UsageError, match="is not known here"):
        author.publish_after(TOPIC, b"", TopicBook(SETUP).cid(TOPIC))
