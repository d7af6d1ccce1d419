"""The gossip systems that CAMCAST is compared with: groups, targets, and what their applications get."""

import pytest
from recording_host import Delivered, Joined, RecordingHost, Sent

from treecast.checkers import check
from treecast.core import AlreadySubscribedError, Event, EventId, NotSubscribedError, Topic
from treecast.protocols.baselines.gossip import (
    ALL,
    GossipBroadcast,
    GossipMulticast,
    GossipSystem,
    HierarchicalGossip,
    HierarchicalSettings,
)
from treecast.protocols.camcast.messages import Pub
from treecast.protocols.camcast.settings import MembershipSettings
from treecast.protocols.setup import Setup
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Action, TopicSetup, UniformNetwork

A, D = Topic("a"), Topic("a.d")
SUBSCRIBERS = {A: (0, 1, 2), D: (3, 4, 5, 6)}
STATIC = MembershipSettings(membership="static")


def machine(
    kind: type[GossipSystem], node: int, settings: MembershipSettings = STATIC
) -> tuple[GossipSystem, RecordingHost]:
    host = RecordingHost(node)
    found = kind(host, node, Setup(range(100), SUBSCRIBERS, settings))
    found.start()
    host.take()
    return found, host


def event(topic: Topic) -> Event:
    return Event(EventId(50, 1), topic, frozenset(), b"")


@pytest.mark.parametrize(("node", "delivers"), [(0, True), (3, True), (60, False)])
def test_broadcast_goes_through_everybody(node: int, delivers: bool) -> None:
    process, host = machine(GossipBroadcast, node)
    for _ in range(2):
        process.receive(50, Pub(event(D), ALL))
    deeds = host.take()
    targets = [deed.to for deed in deeds if isinstance(deed, Sent)]
    assert len(set(targets)) == len(targets) == 4 + 5
    assert deeds.count(Delivered(event(D))) == delivers


def test_multicast_has_a_group_a_topic_with_all_who_are_interested() -> None:
    """Section 3.1, the first way: a subscriber of a is in the groups of a and of all its sub-topics."""
    process, host = machine(GossipMulticast, 0)
    assert process.entries == 2 + 6
    process.receive(3, Pub(event(D), D))
    deeds = host.take()
    assert Delivered(event(D)) in deeds
    assert {deed.to for deed in deeds if isinstance(deed, Sent)} == {1, 2, 3, 4, 5, 6}
    below, _ = machine(GossipMulticast, 3)
    assert below.entries == 6


def test_hierarchical_gossips_in_its_cluster_and_anywhere() -> None:
    settings = HierarchicalSettings(membership="static", clusters=10, c=0, c_outside=3)
    process, host = machine(HierarchicalGossip, 7, settings)
    process.receive(50, Pub(event(D), ALL))
    targets = [deed for deed in host.take() if isinstance(deed, Sent)]
    inside = [each.to for each in targets if each.message.topic and each.message.community != ALL]  # type: ignore[attr-defined]
    assert len(inside) == 2
    assert all(node % 10 == 7 for node in inside)
    assert len(targets) - len(inside) == 2 + 3


def test_applications_are_told_what_can_be_done() -> None:
    process, host = machine(GossipBroadcast, 60)
    with pytest.raises(NotSubscribedError):
        process.publish(D, b"")
    with pytest.raises(NotSubscribedError):
        process.unsubscribe(D)
    process.subscribe(D)
    assert host.take() == [Joined(D)]
    with pytest.raises(AlreadySubscribedError):
        process.subscribe(D)
    process.publish(D, b"")
    assert [type(deed) for deed in host.take()].count(Delivered) == 1


@pytest.mark.parametrize("membership", ["unstructured", "semi-structured", "structured"])
@pytest.mark.parametrize("protocol", ["gossip-broadcast", "gossip-multicast", "gossip-hierarchical"])
def test_all_run_on_every_membership(protocol: str, membership: str) -> None:
    kind = HierarchicalSettings if protocol == "gossip-hierarchical" else MembershipSettings
    result = simulate(
        Scenario(
            name="gossip",
            protocol=protocol,
            nodes=30,
            settle_ms=20_000.0,
            network=UniformNetwork(),
            settings=kind(membership=membership, extra_copies=2),  # type: ignore[arg-type]
            topics=(TopicSetup(name=A, subscribers=8), TopicSetup(name=D, subscribers=(20, 21, 22))),
            actions=(
                Action(at_ms=100, node=29, do="subscribe", topic=D),
                Action(at_ms=10_000, node=20, do="publish", topic=D),
                Action(at_ms=11_000, node=29, do="unsubscribe", topic=D),
            ),
        )
    )
    assert result.journal is not None
    assert check(result.journal).ok
    assert result.events_delivered >= 8, "most of a and of a.d"
    assert (result.false_positives == 0) == (protocol == "gossip-multicast")
