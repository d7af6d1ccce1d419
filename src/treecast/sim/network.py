"""Network models: when a message that a node sends now arrives at the other end.

A model is a `Link`, one for each sender, so that its state (the outgoing queue, the
random stream) moves in the sender's own order, whatever order an engine runs nodes in.
How long the receiver processes is the engine's part: one message at a time.

Invariant: time cut into windows of `flight_us_min` from 0 on, no message arrives in the window
in which it is sent. (So it is where none arrives sooner than that after it is sent; in
rounds it is because all that is sent in one arrives at the begin of the next.)
"""

from typing import Protocol

from treecast.core import Message, NodeId
from treecast.sim.randomness import stream
from treecast.sim.scenario import LatencyNetwork, Network, PacketNetwork, RoundsNetwork


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


class RoundsLink:
    """What is sent in a round arrives at the begin of the next."""

    __slots__ = ("_round_us", "queued", "waited_us")

    def __init__(self, round_us: int) -> None:
        self._round_us = round_us
        self.queued = self.waited_us = 0

    def arrival_us(self, now_us: int, message: Message) -> int:
        return (now_us // self._round_us + 1) * self._round_us

    def departure_us(self, now_us: int, message: Message) -> int:
        return now_us


def flight_us_min(network: Network) -> int:
    """L: what a node does cannot touch another one sooner than this."""
    if isinstance(network, PacketNetwork):
        return network.transmission_us + network.propagation_us
    if isinstance(network, LatencyNetwork):
        return network.delay_us - network.jitter_us
    return network.round_us if isinstance(network, RoundsNetwork) else network.low_us


def make_link(network: Network, seed: int, node: NodeId) -> Link:
    if isinstance(network, PacketNetwork):
        return PacketLink(network)
    if isinstance(network, RoundsNetwork):
        return RoundsLink(network.round_us)
    if isinstance(network, LatencyNetwork):
        low_us, high_us = network.delay_us - network.jitter_us, network.delay_us + network.jitter_us
        return UniformLink(low_us, high_us, seed, node)
    return UniformLink(network.low_us, network.high_us, seed, node)
