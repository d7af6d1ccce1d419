"""Other readings of what the VCube-PS papers leave open, to find where a figure that we miss comes from.

Each is a protocol under a name of its own (`READINGS`); docs/protocols/ says what they show.
Those of VCube-PS start from the pseudo-code as printed (tests/protocols/paper_pseudocode.py),
without treecast's deviations.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from treecast.core import Event, EventId, Host, Message, NodeId, Topic
from treecast.protocols.baselines.messages import Sub, Uns
from treecast.protocols.baselines.single_root import RootSettings
from treecast.protocols.baselines.srpt import BrokerSettings, SrptB, SrptS
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Ack, Membership, OperationMessage, Pub
from treecast.protocols.vcube.messages import Sub as BroadcastSub
from treecast.protocols.vcube.view import is_member
from treecast.structures import hypercube

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "protocols"))
from paper_pseudocode import Operations, PaperMachine, Variables


class AsPrinted(PaperMachine):
    """The pseudo-code as printed; children are kept until the view changes: it takes long enough so."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        super().__init__(host, node, setup)
        self._kept: dict[int, tuple[NodeId, ...]] = {}
        self._kept_for: Operations = {}

    def children(self, m: Pub | BroadcastSub | OperationMessage, h: int) -> tuple[NodeId, ...]:
        if isinstance(m, BroadcastSub):
            return hypercube.children(self.i, self.nodes, h)
        view = self.of(m.topic).view
        if view != self._kept_for:
            self._kept, self._kept_for = {}, dict(view)
        if h not in self._kept:
            self._kept[h] = super().children(m, h)  # type: ignore[arg-type]
        return self._kept[h]


class WholeViews(AsPrinted):
    """ACKs carry all that their sender has in view, as the prose of section 3.3 says, not line 97."""

    def send_acks(self, j: NodeId, t: Topic, origin: EventId, data: tuple[Membership, ...]) -> None:
        at = self.of(t)
        if self.is_subscribed(t) and origin.publisher not in at.first_rec:
            data = newest([*data, *_in_view(at)])
        self.host.send(j, Ack(t, origin, data))


class WithoutWaiting(AsPrinted):
    """A publisher starts its next broadcast without awaiting the ACKs of the one before."""

    def start_msg_propagation(self, t: Topic) -> None:
        at = self.of(t)
        waiting = list(at.br_queue)
        for each in waiting:
            at.br_queue.clear()
            at.br_queue.append(each)
            at.running = None
            super().start_msg_propagation(t)
        at.br_queue.clear()

    def after_wait(self, t: Topic, kind: str) -> None:
        """Nothing is cleared after an UNS: which broadcast an ACK ends is not kept."""

    def on_ack(self, m: Ack) -> tuple[Membership, ...]:
        at = self.of(m.topic)
        at.running = at.running or "PUB"
        return super().on_ack(m)


def _in_view(at: Variables) -> Iterable[Membership]:
    return (Membership(n, True, c, 0) for n, (subscribed, c) in at.view.items() if subscribed)


def newest(operations: Iterable[Membership]) -> tuple[Membership, ...]:
    """Of each node the operation with the highest counter."""
    found: dict[NodeId, Membership] = {}
    for each in operations:
        known = found.get(each.node)
        if known is None or each.counter > known.counter:
            found[each.node] = each
    return tuple(found.values())


class Told(OperationMessage, frozen=True, gc=False, array_like=True):
    """The root tells everybody that the membership has changed."""

    kind: ClassVar[str] = "TOLD"


class ToldToAll(SrptS):
    """SRPT-S whose root learns of each SUB and UNS and passes it down the tree, as it does with events.

    So a change costs what an event costs; in treecast's SRPT-S, as in Scribe, only the branch
    concerned hears of it, and the root of a SUB.
    """

    def _detach(self, topic: Topic) -> None:
        super()._detach(topic)
        self._tell_root(Uns(topic, self._next_origin()))

    def _on_sub(self, sub: Sub) -> None:
        super()._on_sub(sub)
        self._tell_all(sub.topic, sub.origin)

    def _on_operation(self, sender: NodeId, message: Message) -> None:
        if type(message) is Uns or type(message) is Told:
            self._tell_all(message.topic, message.origin)
        else:
            super()._on_operation(sender, message)

    def _tell_all(self, topic: Topic, origin: EventId) -> None:
        for child in self._branch(topic).children:
            self._host.send(child, Told(topic, origin))


class ThroughBroker(SrptB):
    """SRPT-B in which a subscriber publishes through its broker, and that one sends to the root."""

    def _send_up(self, event: Event) -> None:
        broker = self._branch(event.topic).parent
        if broker is None or is_member(self._node, self._brokers):
            super()._send_up(event)
        else:
            self._host.send(broker, Pub(event))

    def _on_pub(self, sender: NodeId, pub: Pub) -> None:
        root = self.root_of(pub.event.topic)
        if root != self._node and not is_member(sender, self._brokers):
            self._host.send(root, pub)
        else:
            super()._on_pub(sender, pub)


READINGS = {
    "as-printed": Entry(AsPrinted),
    "whole-views": Entry(WholeViews),
    "without-waiting": Entry(WithoutWaiting),
    "told-to-all": Entry(ToldToAll, RootSettings, relays="anyone"),
    "through-broker": Entry(ThroughBroker, BrokerSettings, relays="anyone"),
}
PROTOCOLS.update(READINGS)
