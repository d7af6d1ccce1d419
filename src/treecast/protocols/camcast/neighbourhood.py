"""Contacts without any service: gateways, and questions from neighbourhood to neighbourhood (section 3.3).

A topic's gateways are asked first (section 5.2.1). Else a question goes to the process's
neighbourhood, some processes that it knows by no topic, and from each who cannot answer to
his, until `ttl` hops are used up.

Invariant: a process handles one question at most once, however many ways it comes.
"""

from collections.abc import Callable

from treecast.core import Host, Message, NodeId, Topic
from treecast.protocols.camcast.membership import drawn
from treecast.protocols.camcast.messages import AnsContact, ReqContact
from treecast.protocols.camcast.search import Contacts, Search
from treecast.protocols.camcast.settings import MembershipSettings
from treecast.protocols.setup import Setup

SEEN_MAX = 4_096


class Neighbourhood(Contacts):
    """One process's gateways and neighbours; `known` says whom it knows of a topic, itself included."""

    def __init__(
        self, host: Host, node: NodeId, setup: Setup, known: Callable[[Topic], tuple[NodeId, ...]]
    ) -> None:
        settings = setup.settings
        assert isinstance(settings, MembershipSettings)
        self._host = host
        self._node = node
        self._setup = setup
        self._settings = settings
        self._known = known
        self._neighbours: list[NodeId] | None = None
        self._number = host.life << 32  # no question of an earlier life is asked again
        self._seen: dict[tuple[NodeId, int, int], None] = {}

    def ask(self, search: Search) -> None:
        gateways = self._gateways(search) if not search.attempts else []
        self._number += 1
        ttl = 0 if gateways else self._settings.ttl - 1
        topic, parent = search.key
        request = ReqContact(topic, parent, self._node, self._number, search.scope, ttl)
        self._note(request)
        for node in gateways or self._around():
            self._host.send(node, request)

    def announce(self, topic: Topic, *, present: bool) -> None:
        """Nobody keeps a record of it."""

    def receive(self, sender: NodeId, message: Message) -> bool:
        if not isinstance(message, ReqContact):
            return False
        if self._note(message):
            self._on_req_contact(sender, message)
        return True

    def _on_req_contact(self, sender: NodeId, request: ReqContact) -> None:
        for of in request.scope:
            known = tuple(node for node in self._known(of) if node != request.requester)
            if known:
                answer = AnsContact(request.topic, request.parent, of, known)
                self._host.send(request.requester, answer)
                return
        if request.ttl:
            onward = ReqContact(
                request.topic,
                request.parent,
                request.requester,
                request.number,
                request.scope,
                request.ttl - 1,
            )
            for node in self._around():
                if node not in {sender, request.requester}:
                    self._host.send(node, onward)

    def _gateways(self, search: Search) -> list[NodeId]:
        first = self._setup.subscribers.get(search.scope[0], ())[: self._settings.gateways]
        return [node for node in first if node != self._node]

    def _around(self) -> list[NodeId]:
        if self._neighbours is None:
            count = self._settings.neighbours
            self._neighbours = drawn(self._setup.nodes, self._node, count, self._host.random)
        return self._neighbours

    def _note(self, request: ReqContact) -> bool:
        """Whether it was not seen before; a requester's lives count their questions anew."""
        mark = (request.requester, request.number, len(request.scope))
        if mark in self._seen:
            return False
        self._seen[mark] = None
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        return True
