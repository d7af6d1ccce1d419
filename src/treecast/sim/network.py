"""Network models: when a message that a node sends now arrives at the other end.

A model is a `Link`, one for each sender, so that its state (the outgoing queue, the
random stream) moves in the sender's own order, whatever order an engine runs nodes in.
How long the receiver processes is the engine's part: one message at a time.

Invariant: no message arrives sooner than `flight_us_min` after it is sent.
"""

from typing import Protocol

from treecast.core import Message, NodeId
from treecast.sim.randomness import stream
from treecast.sim.scenario import Network, PacketNetwork


class Link(Protocol):
    """One node's way out."""

    queued: int
    """How many messages went through its outgoing queue, if it has one ..."""
    waited_us: int
    """... and how long they waited there, all together."""

    def arrival_us(self, now_us: int, message: Message) -> int:
        """Send it."""
        ...

    def departure_us(self, now_us: int, message: Message) -> int:
        """When it would begin to leave, if it were sent now."""
        ...


class PacketLink:
    """t_t on one first-in-first-out line, then t_pp (VCube-PS 2018, section 4)."""

    __slots__ = ("_acks_free", "_free_us", "_propagation_us", "_transmission_us", "queued", "waited_us")

    def __init__(self, network: PacketNetwork) -> None:
        self._transmission_us = network.transmission_us
        self._propagation_us = network.propagation_us
        self._acks_free = network.acks == "free"
        self._free_us = 0
        self.queued = self.waited_us = 0

    def arrival_us(self, now_us: int, message: Message) -> int:
        if self._acks_free and message.is_ack:
            return now_us + self._transmission_us + self._propagation_us
        begin = now_us
        if self._free_us > now_us:
            begin = self._free_us
            self.waited_us += begin - now_us
        self.queued += 1
        self._free_us = end = begin + self._transmission_us
        return end + self._propagation_us

    def departure_us(self, now_us: int, message: Message) -> int:
        return now_us if self._acks_free and message.is_ack else max(now_us, self._free_us)


class UniformLink:
    """A delay drawn for each message; later ones may overtake."""

    __slots__ = ("_high_us", "_low_us", "_random", "queued", "waited_us")

    def __init__(self, low_us: int, high_us: int, seed: int, node: NodeId) -> None:
        self._low_us = low_us
        self._high_us = high_us
        self._random = stream(seed, "network", node)
        self.queued = self.waited_us = 0

    def arrival_us(self, now_us: int, message: Message) -> int:
        return now_us + self._random.randint(self._low_us, self._high_us)

    def departure_us(self, now_us: int, message: Message) -> int:
        return now_us


def flight_us_min(network: Network) -> int:
    """L: what a node does cannot touch another one sooner than this."""
    if isinstance(network, PacketNetwork):
        return network.transmission_us + network.propagation_us
    return network.low_us


def make_link(network: Network, seed: int, node: NodeId) -> Link:
    if isinstance(network, PacketNetwork):
        return PacketLink(network)
    return UniformLink(network.low_us, network.high_us, seed, node)
