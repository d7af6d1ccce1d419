"""A node of Pulsarcast that takes part, and besides sends its neighbours what it should not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from treecast.core import EventId, Host, NodeId, TimerKey, Topic
from treecast.protocols.pulsarcast.descriptors import EventDescriptor
from treecast.protocols.pulsarcast.dht_messages import Content, content_key
from treecast.protocols.pulsarcast.envelope import decode_envelope, seal
from treecast.protocols.pulsarcast.identity import simulated_identity
from treecast.protocols.pulsarcast.messages import Carried, Given, Pub
from treecast.protocols.pulsarcast.places import Place
from treecast.protocols.pulsarcast.pulsarcast import Pulsarcast
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.pulsarcast.topics import stamp
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup

EVERY_US = 400_000
TOPIC, OTHER = Topic("honest"), Topic("elsewhere")


class Hostile(Pulsarcast):
    """`attack` names what it sends."""

    def __init__(self, host: Host, node: NodeId, setup: Setup, attack: str) -> None:
        super().__init__(host, node, setup)
        self._attack: Callable[[Place], Carried | None] = getattr(self, f"_{attack}")
        self._number = 1 << 50
        self._left = 12

    def start(self) -> None:
        super().start()
        self._host.set_timer("attack", 6_000_000)

    def timer(self, key: TimerKey) -> None:
        if key != "attack":
            super().timer(key)
            return
        self._left -= 1
        if self._left:
            self._host.set_timer("attack", EVERY_US)
        place = self.trees.place(TOPIC)
        carried = self._attack(place)
        if carried is not None:
            for neighbour in place.neighbours():
                self._host.send(neighbour, Pub(TOPIC, carried.id, carried))
                self._host.send(neighbour, Given(TOPIC, carried.id, (carried,)))
            self.dht.store(content_key(carried.cid), Content(carried.data, carried.envelope), lambda _: None)

    def _some(self, topic: Topic) -> Carried | None:
        """An honest event."""
        records = [*self.trees.place(topic).history.records.values()]
        return self._host.random.choice(records).carried if records else None

    def _forged(self, parents: tuple[bytes, ...] = ()) -> Carried:
        """An event of its own, made by the rules but never published."""
        self._number += 1
        identity = simulated_identity(self._node)
        descriptor = EventDescriptor(
            topic=self.trees.place(TOPIC).history.cid,
            author=identity.peer,
            publisher=identity.peer,
            payload=b"forged %d" % self._number,
            created=stamp(self._host.now()),
        )
        envelope = seal(descriptor, sequence=self._number, parents=parents, publisher=identity)  # type: ignore[arg-type]
        event = EventId(self._node, self._number)
        return Carried(event, envelope.event, descriptor.encode(), envelope.encode())

    def _wrong_hash(self, place: Place) -> Carried | None:
        """The envelope and the name of one event with the bytes of another."""
        one, other = self._forged(), self._forged()
        return Carried(one.id, one.cid, other.data, one.envelope)

    def _not_allowed(self, place: Place) -> Carried | None:
        return self._forged()

    def _bad_signature(self, place: Place) -> Carried | None:
        """Numbered anew after it was signed."""
        forged = self._forged()
        later = replace(decode_envelope(forged.envelope), sequence=forged.id.sequence + 1000)
        return Carried(EventId(self._node, later.sequence), forged.cid, forged.data, later.encode())

    def _foreign_link(self, place: Place) -> Carried | None:
        foreign = self._some(OTHER)
        return None if foreign is None else self._forged((foreign.cid,))

    def _foreign_event(self, place: Place) -> Carried | None:
        return self._some(OTHER)

    def _replay(self, place: Place) -> Carried | None:
        return self._some(TOPIC)


@contextmanager
def hostile_nodes(attack: str, nodes: set[NodeId]) -> Iterator[str]:
    """The name of a protocol in which these nodes are hostile and all others Pulsarcast's."""

    def make(host: Host, node: NodeId, setup: Setup) -> Pulsarcast:
        return Hostile(host, node, setup, attack) if node in nodes else Pulsarcast(host, node, setup)

    PROTOCOLS["hostile"] = Entry(make, PulsarcastSettings, relays="anyone")
    try:
        yield "hostile"
    finally:
        del PROTOCOLS["hostile"]
