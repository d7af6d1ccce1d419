"""The gossip systems that CAMCAST is compared with (section 4.2), on the same memberships.

- `GossipBroadcast`: one group of all processes, whatever their interests; everybody gets
  everything, so most of it are parasites.
- `GossipMulticast`: one group a topic, of those who publish on it or expect its events: who
  subscribes to a topic is in its group and in those of all its sub-topics (hereditary
  peers). Nobody gets parasites, but tables grow with the number of sub-topics.
- `HierarchicalGossip`: processes are divided into clusters, whatever their interests; each
  gossips in its cluster and to some processes anywhere.

Invariants: a process forwards an event once, to distinct others; it delivers an event once,
and only what its application has subscribed to, here or above.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from treecast.core import (
    AlreadySubscribedError,
    Event,
    EventId,
    Host,
    NodeId,
    NotSubscribedError,
    Topic,
)
from treecast.core.keys import Count
from treecast.protocols.camcast.groups import GroupMachine
from treecast.protocols.camcast.membership import Membership
from treecast.protocols.camcast.messages import Gone, Pub
from treecast.protocols.camcast.settings import MembershipSettings, Number
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.view import is_member
from treecast.structures.event_log import EventLog

ALL = Topic("*")
"""The group of all processes: no topic can have this name."""
KEEP_EVENTS = 4_096

Groups: TypeAlias = Mapping[Topic, tuple[NodeId, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchicalSettings(MembershipSettings):
    """Also the clusters; `c` is c_1, for gossip inside a cluster."""

    clusters: Count = 10
    """C: how many clusters the processes are divided into, by turns."""
    c_outside: Number = 5
    """c_2: each process gossips to floor(ln C) + c_2 processes anywhere."""


class GossipSystem(GroupMachine):
    """One process; a system says which groups there are, and to whom an event goes."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, MembershipSettings), "the registry names the class of settings"
        self._standing = self._standing_groups(setup)
        super().__init__(host, node, replace(setup, subscribers=self._standing), settings)
        self._interests = setup.subscribers
        self._subscribed: dict[Topic, None] = {}
        self._groups: dict[Topic, Membership] = {}
        self._seen = EventLog(KEEP_EVENTS)

    @property
    def entries(self) -> int:
        """How many processes its tables name."""
        return sum(len(group.view) for group in self._groups.values())

    # -- what a system adds ---------------------------------------------------------------

    @abstractmethod
    def _standing_groups(self, setup: Setup) -> Groups:
        """Who is in which group from the start."""

    @abstractmethod
    def _targets(self, event: Event, group: Membership) -> Sequence[tuple[NodeId, Topic]]:
        """Whom an event that has come to a group goes on to, and in which group."""

    @abstractmethod
    def _group_of(self, topic: Topic) -> Topic:
        """In which group an event of `topic` is published."""

    def _enter(self, topic: Topic) -> None:
        """The application has subscribed to `topic`."""

    def _leave(self, topic: Topic) -> None:
        """It has unsubscribed."""

    # -- the application's side -----------------------------------------------------------

    def start(self) -> None:
        for name, members in self._standing.items():
            if is_member(self._node, members):
                group = self._groups[name] = self._membership(name)
                if self._host.life == 0:
                    self._begin(group, members)
                else:
                    group.join()
        if self._host.life == 0:
            for topic, subscribers in self._interests.items():
                if is_member(self._node, subscribers):
                    self._subscribed[topic] = None
                    self._host.joined(topic)

    def _begin(self, group: Membership, members: Sequence[NodeId]) -> None:
        group.begin(members)

    def subscribe(self, topic: Topic) -> None:
        if topic in self._subscribed:
            raise AlreadySubscribedError(
                f"node {self._node} is subscribed to {topic!r} already; unsubscribe first"
            )
        self._subscribed[topic] = None
        self._enter(topic)

    def unsubscribe(self, topic: Topic) -> None:
        if topic not in self._subscribed:
            raise NotSubscribedError(
                f"node {self._node} cannot unsubscribe from {topic!r}: it is not subscribed; subscribe first"
            )
        del self._subscribed[topic]
        self._leave(topic)

    def publish(self, topic: Topic, payload: bytes) -> EventId:
        group = self._groups.get(self._group_of(topic))
        if group is None or topic not in self._subscribed:
            raise NotSubscribedError(
                f"node {self._node} cannot publish to {topic!r}: it is not subscribed; subscribe first"
            )
        event = self._new_event(topic, payload)
        self._take(event, group)
        return event.id

    def _become_joined(self, topic: Topic) -> None:
        if topic in self._subscribed:
            self._host.joined(topic)

    def _group(self, topic: Topic) -> Membership | None:
        return self._groups.get(topic)

    # -- gossip ---------------------------------------------------------------------------

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        group = self._groups.get(pub.community)
        if group is None:
            self._host.send(sender, Gone(pub.community))
        else:
            self._take(pub.event, group)

    def _take(self, event: Event, group: Membership) -> None:
        if not self._seen.add(event, self._host.now()):
            return
        for node, name in self._targets(event, group):
            self._host.send(node, Pub(event, name))
        if any(self._hierarchy.covers(topic, event.topic) for topic in self._subscribed):
            self._host.deliver(event)


class GossipBroadcast(GossipSystem):
    """(a): every event goes to everybody."""

    def _standing_groups(self, setup: Setup) -> Groups:
        return {ALL: tuple(setup.nodes)}

    def _group_of(self, topic: Topic) -> Topic:
        return ALL

    def _targets(self, event: Event, group: Membership) -> Sequence[tuple[NodeId, Topic]]:
        return [(node, ALL) for node in group.view.sample(self._host.random, group.fan_out)]

    def _enter(self, topic: Topic) -> None:
        self._host.joined(topic)


class GossipMulticast(GossipSystem):
    """(b): one group a topic."""

    def _standing_groups(self, setup: Setup) -> Groups:
        hierarchy = setup.hierarchy
        return {
            topic: tuple(
                sorted(
                    {
                        node
                        for each in (topic, *hierarchy.above(topic))
                        for node in setup.subscribers.get(each, ())
                    }
                )
            )
            for topic in setup.subscribers
        }

    def _group_of(self, topic: Topic) -> Topic:
        return topic

    def _targets(self, event: Event, group: Membership) -> Sequence[tuple[NodeId, Topic]]:
        return [(node, group.topic) for node in group.view.sample(self._host.random, group.fan_out)]

    def _wanted(self, name: Topic) -> bool:
        return any(self._hierarchy.covers(topic, name) for topic in self._subscribed)

    def _enter(self, topic: Topic) -> None:
        """Join the groups of the topic and of all its sub-topics that are known."""
        self._refuse_static("subscribe to", topic)
        for name in (topic, *(each for each in self._standing if each != topic)):
            if name in self._groups or not self._hierarchy.covers(topic, name):
                continue
            group = self._groups[name] = self._membership(name)
            self._contacts.announce(name, present=True)
            self._begin_announcing(name)
            group.join()
        if topic in self._groups and self._groups[topic].view:
            self._host.joined(topic)

    def _leave(self, topic: Topic) -> None:
        for name in [name for name in self._groups if not self._wanted(name)]:
            self._leave_group(self._groups.pop(name))


class HierarchicalGossip(GossipSystem):
    """(c): gossip inside a cluster, and from each process to some anywhere."""

    def _clusters(self, setup: Setup) -> int:
        settings = setup.settings
        assert isinstance(settings, HierarchicalSettings), "the registry names the class of settings"
        return min(settings.clusters, len(setup.nodes))

    def _standing_groups(self, setup: Setup) -> Groups:
        count = self._clusters(setup)
        clusters = {Topic(f"{ALL}{number}"): tuple(setup.nodes[number::count]) for number in range(count)}
        return {**clusters, ALL: tuple(setup.nodes)}

    @property
    def _outside(self) -> int:
        """floor(ln C) + c_2."""
        settings = self._settings
        assert isinstance(settings, HierarchicalSettings)
        return math.floor(math.log(self._clusters(self._setup))) + settings.c_outside

    def _begin(self, group: Membership, members: Sequence[NodeId]) -> None:
        group.begin(members, self._outside if group.topic == ALL else None)

    def _group_of(self, topic: Topic) -> Topic:
        return next(name for name in self._groups if name != ALL)

    def _targets(self, event: Event, group: Membership) -> Sequence[tuple[NodeId, Topic]]:
        inside, outside = self._groups[self._group_of(event.topic)], self._groups[ALL]
        random = self._host.random
        near = [(node, inside.topic) for node in inside.view.sample(random, inside.fan_out)]
        return near + [(node, ALL) for node in outside.view.sample(random, self._outside)]

    def _enter(self, topic: Topic) -> None:
        self._host.joined(topic)
