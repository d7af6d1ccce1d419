"""A lookup service: who is in a group (section 5.2.2); the interface, and one that holds it in memory.

The semi-structured membership asks it for contacts, the structured one fills its tables
from it. `Directory` stands in for the distributed hashtable: some nodes, chosen by a hash
of the topic's name, hold the topic's members in their memory. They know of processes, and
never see an event.

Invariants: every node takes the same nodes for a topic's keepers; a keeper forgets who has
not announced himself for some time.
"""

from abc import ABC, abstractmethod
from hashlib import sha256

from treecast.core import Host, Message, NodeId, Topic
from treecast.protocols.camcast.messages import Announce, AnsContact, Find
from treecast.protocols.camcast.search import Contacts, Search
from treecast.protocols.camcast.settings import MembershipSettings
from treecast.protocols.setup import Setup

KEEPERS = 3
"""Nodes that hold a topic: all but one may crash."""
LIFETIME = 3
"""How many `refresh_ms` an announcement holds."""


class Lookup(ABC):
    """Who is in a group; what a distributed hashtable has to offer."""

    @abstractmethod
    def announce(self, topic: Topic, *, present: bool) -> None:
        """This node has come into the group, or is still there; or has left it."""

    @abstractmethod
    def find(self, topic: Topic, parent: Topic | None, of: Topic, count: int) -> None:
        """Ask for `count` random members of `of`; an AnsContact with the first two will come, or nothing.

        It tells the number of members, and also that there are none.
        """

    @abstractmethod
    def receive(self, sender: NodeId, message: Message) -> bool:
        """Handle a message of the service; False when it is none."""


class Directory(Lookup):
    """One node's side of it: asks the keepers, and is one."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        settings = setup.settings
        assert isinstance(settings, MembershipSettings)
        self._host = host
        self._node = node
        self._nodes = setup.nodes
        self._lifetime_us = round(settings.refresh_ms * 1000) * LIFETIME
        self._keepers: dict[Topic, list[NodeId]] = {}
        # Those who were there from the start have announced themselves before the run.
        standing = setup.subscribers.items() if host.life == 0 else ()
        self._members: dict[Topic, dict[NodeId, int]] = {
            topic: dict.fromkeys(members, host.now() + self._lifetime_us)
            for topic, members in standing
            if node in self._keepers_of(topic)
        }

    def announce(self, topic: Topic, *, present: bool) -> None:
        for keeper in self._keepers_of(topic):
            self._host.send(keeper, Announce(topic, present))

    def find(self, topic: Topic, parent: Topic | None, of: Topic, count: int) -> None:
        keeper = self._host.random.choice(self._keepers_of(of))
        self._host.send(keeper, Find(topic, parent, of, count))

    def receive(self, sender: NodeId, message: Message) -> bool:
        if isinstance(message, Announce):
            members = self._members.setdefault(message.topic, {})
            if message.present:
                members[sender] = self._host.now() + self._lifetime_us
            else:
                members.pop(sender, None)
        elif isinstance(message, Find):
            self._on_find(sender, message)
        else:
            return False
        return True

    def _on_find(self, sender: NodeId, find: Find) -> None:
        now_us = self._host.now()
        members = self._members.get(find.of, {})
        for node in [node for node, until_us in members.items() if until_us <= now_us]:
            del members[node]
        others = [node for node in members if node != sender]
        found = self._host.random.sample(others, min(find.count, len(others)))
        self._host.send(sender, AnsContact(find.topic, find.parent, find.of, tuple(found), len(members)))

    def _keepers_of(self, topic: Topic) -> list[NodeId]:
        keepers = self._keepers.get(topic)
        if keepers is None:
            count = len(self._nodes)
            first = int.from_bytes(sha256(topic.encode()).digest(), "big") % count
            places = [(first + step) % count for step in range(min(KEEPERS, count))]
            keepers = self._keepers[topic] = [self._nodes[place] for place in places]
        return keepers


class LookupContacts(Contacts):
    """Contacts from a lookup service, whichever it is."""

    def __init__(self, lookup: Lookup, count: int) -> None:
        self._lookup = lookup
        self._count = count

    def ask(self, search: Search) -> None:
        for of in search.newest:
            self._lookup.find(search.key.topic, search.key.parent, of, self._count)

    def announce(self, topic: Topic, *, present: bool) -> None:
        self._lookup.announce(topic, present=present)

    def receive(self, sender: NodeId, message: Message) -> bool:
        return self._lookup.receive(sender, message)
