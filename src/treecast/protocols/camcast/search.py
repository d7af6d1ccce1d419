"""FIND_SUPER_CONTACT: looking for processes of a topic, or of the next one above that has any (section 3.3).

A search asks for one topic; where nobody answers in time, for the next ones above as well,
and so on up to the roots. What is found takes out of the search all topics above it: what
is left are closer ones. Whom it asks is the part of `Contacts`: gateways and the
neighbourhood, or a lookup service.

Invariants: a search is for a process's own group (then it asks for that topic only) or for
one super-topic table; each runs once at a time; after one that found nothing the next waits
longer, up to `PATIENCE` times the first wait.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from treecast.core import Host, Message, NodeId, Topic
from treecast.protocols.camcast.membership import Timer
from treecast.protocols.camcast.messages import AnsContact

PATIENCE = 32
LAST_TRIES = 2
"""How often the widest question is asked before the search is given up for this time."""


class SearchKey(NamedTuple):
    """For whom: a group to be joined, or (`parent`) a super-topic table of it to be filled."""

    topic: Topic
    parent: Topic | None


class Search:
    """One search under way: initMsg."""

    __slots__ = ("attempts", "generations", "key", "scope", "tries_left")

    def __init__(self, key: SearchKey, generations: tuple[tuple[Topic, ...], ...]) -> None:
        self.key = key
        self.generations = generations
        self.scope = generations[0]
        self.attempts = 0
        self.tries_left = LAST_TRIES

    @property
    def newest(self) -> tuple[Topic, ...]:
        """What the last widening added, as far as it is still looked for."""
        asked = [each for each in self.generations if set(each) & set(self.scope)]
        return tuple(topic for topic in asked[-1] if topic in self.scope) if asked else ()

    def widen(self) -> bool:
        """Ask for the next topics above as well; False when all have been asked for often enough."""
        self.attempts += 1
        for generation in self.generations:
            if not set(generation) & set(self.scope):
                self.scope += generation
                return True
        self.tries_left -= 1
        return self.tries_left > 0

    def narrow(self, found: Topic) -> bool:
        """Look on for what is closer than `found`; False when nothing is."""
        level = next((n for n, each in enumerate(self.generations) if found in each), 0)
        self.generations = self.generations[:level]
        closer = {topic for each in self.generations for topic in each}
        self.scope = tuple(topic for topic in self.scope if topic in closer)
        return bool(self.scope)


class Contacts(ABC):
    """Where a process asks for others of a topic."""

    @abstractmethod
    def ask(self, search: Search) -> None:
        """Ask for the topics of its scope; answers come as AnsContact."""

    @abstractmethod
    def announce(self, topic: Topic, *, present: bool) -> None:
        """This process has come into a group, or has left it."""

    @abstractmethod
    def receive(self, sender: NodeId, message: Message) -> bool:
        """Handle a question of another process; False when the message is none."""


class Searches:
    """All searches of one process."""

    def __init__(
        self,
        host: Host,
        contacts: Contacts,
        search_ms: float,
        found: Callable[[SearchKey, AnsContact], None],
        exhausted: Callable[[SearchKey], None],
    ) -> None:
        self._host = host
        self._contacts = contacts
        self._search_us = round(search_ms * 1000)
        self._found = found
        self._exhausted = exhausted
        self._running: dict[SearchKey, Search] = {}
        self._waits_us: dict[SearchKey, int] = {}
        self._next_us: dict[SearchKey, int] = {}

    def start(self, key: SearchKey, generations: tuple[tuple[Topic, ...], ...]) -> None:
        """Begin, unless it runs, or has found nothing a short while ago."""
        if key in self._running or not generations or self._host.now() < self._next_us.get(key, 0):
            return
        search = self._running[key] = Search(key, generations)
        self._ask(search)

    def stop(self, topic: Topic) -> None:
        """Forget all that is looked for on behalf of a topic."""
        for key in [key for key in self._running if key.topic == topic]:
            self._end(key)
        for key in [key for key in self._next_us if key.topic == topic]:
            del self._next_us[key], self._waits_us[key]

    def answered(self, answer: AnsContact) -> None:
        """Somebody has answered; an answer to a search that has ended is welcome all the same."""
        key = SearchKey(answer.topic, answer.parent)
        search = self._running.get(key)
        if not answer.members:
            if search is not None and answer.of in search.newest:
                self.timer(key)
            return
        if search is not None and not search.narrow(answer.of):
            self._end(key)
        self._waits_us.pop(key, None)
        self._next_us.pop(key, None)
        self._found(key, answer)

    def timer(self, key: SearchKey) -> None:
        """Nobody has answered: ask for more."""
        search = self._running.get(key)
        if search is None:
            return
        if search.widen():
            self._ask(search)
            return
        self._end(key)
        wait_us = self._waits_us.get(key, self._search_us)
        self._waits_us[key] = min(2 * wait_us, PATIENCE * self._search_us)
        self._next_us[key] = self._host.now() + wait_us
        self._exhausted(key)

    def _ask(self, search: Search) -> None:
        self._host.set_timer(Timer(search.key.topic, "search", search.key.parent), self._search_us)
        self._contacts.ask(search)

    def _end(self, key: SearchKey) -> None:
        del self._running[key]
        self._host.cancel_timer(Timer(key.topic, "search", key.parent))
