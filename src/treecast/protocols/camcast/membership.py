"""A group's membership as one process sees it: the interface, and the tables that never change.

Three memberships stand behind it (section 5.2): `Scamp`, with contacts from gateways or from
a lookup service, and `Structured`, whose tables the lookup service fills. `StaticTables` are
those of the paper's simulations (section 6.1).

Invariant: a process changes its own view only; of others it learns by messages.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from treecast.core import Host, Message, NodeId, Topic
from treecast.protocols.camcast.messages import Links
from treecast.protocols.camcast.settings import MembershipSettings
from treecast.structures.partial_view import PartialView


class Timer(NamedTuple):
    """Runs out for one group; `what`: for which of its tasks, `parent`: for which super-topic table."""

    topic: Topic
    what: str
    parent: Topic | None = None


class Surroundings(NamedTuple):
    """What a membership may turn to, beside its host."""

    host: Host
    node: NodeId
    settings: MembershipSettings
    joined: Callable[[Topic], None]
    """The process stands in the group."""
    search: Callable[[Topic], None]
    """Contacts in the group are wanted; `Membership.found` will be called."""
    links: Callable[[Topic], tuple[Links, ...]]
    """What to tell others of the group about the super-topic tables ..."""
    merge: Callable[[Topic, Sequence[Links]], None]
    """... and to take in of what they tell."""


def fan_out(size: float, c: int) -> int:
    """floor(ln N) + c: to how many others of a group of `size` processes one of them gossips."""
    return math.floor(math.log(max(1.0, size))) + c


def drawn(members: Sequence[NodeId], node: NodeId, count: int, random: Random) -> list[NodeId]:
    """`count` of the members drawn at random, `node` not among them; all others if there are fewer."""
    sample = random.sample(members, min(count + 1, len(members)))
    return [each for each in sample if each != node][:count]


class Membership(ABC):
    """One process in one group."""

    def __init__(self, around: Surroundings, topic: Topic) -> None:
        self._around = around
        self._host = around.host
        self._node = around.node
        self._settings = around.settings
        self.topic = topic
        self.view = PartialView(around.node)
        """The topic table."""

    @abstractmethod
    def size(self) -> float:
        """N: how many processes are in the group, as far as it is known."""

    @property
    def fan_out(self) -> int:
        return fan_out(self.size(), self._settings.c)

    def begin(self, members: Sequence[NodeId], count: int | None = None) -> None:
        """Stand in a group that is at rest, with these members; `count` entries, if not floor(ln N) + c."""
        if count is None:
            count = fan_out(len(members), self._settings.c)
        self.view = PartialView(self._node, drawn(members, self._node, count, self._host.random))

    @abstractmethod
    def join(self) -> None:
        """Become one of the group; `Surroundings.joined` is called when that is done."""

    @abstractmethod
    def leave(self) -> None:
        """Be one of the group no more."""

    @abstractmethod
    def found(self, members: Sequence[NodeId], size: int | None) -> None:
        """Contacts were found, or nobody was; `size`: how many are in the group, if that is known."""

    def gone(self, node: NodeId) -> None:
        """`node` says that it is not of the group."""
        self.view.discard(node)

    def receive(self, sender: NodeId, message: Message) -> bool:
        """Handle a message of this membership; False when it is none."""
        return False

    @abstractmethod
    def timer(self, what: str) -> None:
        """A timer of this group ran out."""

    def _set_timer(self, what: str, after_ms: float) -> None:
        self._host.set_timer(Timer(self.topic, what), round(after_ms * 1000))

    def _cancel_timers(self, *whats: str) -> None:
        for what in whats:
            self._host.cancel_timer(Timer(self.topic, what))


class StaticTables(Membership):
    """A table drawn at the start, of floor(ln N) + c entries, that never changes."""

    def __init__(self, around: Surroundings, topic: Topic) -> None:
        super().__init__(around, topic)
        self._size = 1

    def size(self) -> float:
        return self._size if self._settings.size is None else self._settings.size

    def begin(self, members: Sequence[NodeId], count: int | None = None) -> None:
        self._size = len(members)
        super().begin(members, count)

    def gone(self, node: NodeId) -> None:
        """Nothing changes, not even then."""

    def join(self) -> None:
        raise AssertionError("whoever has static tables refuses to join before it comes to this")

    def leave(self) -> None:
        """Whoever named this process goes on doing so."""
        self.view.clear()

    def found(self, members: Sequence[NodeId], size: int | None) -> None:
        raise AssertionError("static tables look for nobody")

    def timer(self, what: str) -> None:
        raise AssertionError(f"static tables set no timers, but {what!r} ran out")
