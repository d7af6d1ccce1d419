"""A fixed root for VCube's tree over the subscribers: what VCube-PB is compared with (its section 6).

The tree is the one that VCube-PS grows, over the subscribers alone, but always from the same
node. The root is told of each subscription and keeps the members; each `RoutedPub` names
those for whom its receiver answers, all of one cluster. So no other node keeps a view that
could be out of date, and subscribers may change at any rate.

Invariants: an event goes to those who are members when the root passes it on, to each once;
of two operations of one node the later one counts, in whatever order they reach the root.
"""

from typing import TypeAlias

from treecast.core import Event, Host, Message, NodeId, Topic
from treecast.protocols.baselines.messages import RoutedPub, Sub, Uns
from treecast.protocols.baselines.single_root import SingleRoot
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import OperationMessage, Pub
from treecast.protocols.vcube.view import Members
from treecast.structures import hypercube

Routes: TypeAlias = tuple[tuple[NodeId, tuple[NodeId, ...]], ...]
"""To whom an event goes next, and for whom each of them answers."""


def routes(i: NodeId, behind: tuple[NodeId, ...]) -> Routes:
    """The way on from node i to all the others in `behind`: its children in VCube's tree over them."""
    reach = max(hypercube.cluster(i, behind[0]), hypercube.cluster(i, behind[-1])) if behind else 0
    found = []
    for child in hypercube.children(i, behind, reach):
        begin, end = hypercube.within(child, hypercube.cluster(i, child) - 1, behind)
        found.append((child, behind[begin:end]))
    return tuple(found)


class Register:
    """What the root knows of a topic's members."""

    __slots__ = ("_root", "_routes", "members", "operations")

    def __init__(self, root: NodeId, members: tuple[NodeId, ...]) -> None:
        self.members = Members(root, members)
        self.operations: dict[NodeId, int] = {}  # of each node, the counter of its latest operation
        self._root = root
        self._routes: Routes | None = None

    def note(self, operation: OperationMessage, *, member: bool) -> bool:
        """Take a node in or out; False when it has sent a later operation, which was faster."""
        node, counter = operation.origin
        if counter <= self.operations.get(node, 0):
            return False
        self.operations[node] = counter
        self.members.set(node, member)
        self._routes = None
        return True

    def routes(self) -> Routes:
        """The way of an event to the present members."""
        if self._routes is None:
            self._routes = routes(self._root, self.members.members)
        return self._routes


class FixedRoot(SingleRoot):
    """One node of the fixed-root system."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        super().__init__(host, node, setup, setup.nodes)
        self._registers: dict[Topic, Register] = {}
        # The routes by which this node passed on last: they change only when members do.
        self._passed_down: dict[Topic, tuple[tuple[NodeId, ...], Routes]] = {}

    # -- membership -----------------------------------------------------------------------

    def _attach(self, topic: Topic) -> None:
        self._ask_root(topic)

    def _detach(self, topic: Topic) -> None:
        self._tell_root(Uns(topic, self._next_origin()))

    def _admit(self, sub: Sub) -> bool:
        return self._register(sub.topic).note(sub, member=True)

    def _on_operation(self, sender: NodeId, message: Message) -> None:
        if type(message) is not Uns:
            super()._on_operation(sender, message)
        elif self.root_of(message.topic) != self._node:
            raise self._misled(message)
        else:
            self._register(message.topic).note(message, member=False)

    def _register(self, topic: Topic) -> Register:
        register = self._registers.get(topic)
        if register is None:
            members = () if self._host.life else self._setup.subscribers.get(topic, ())
            register = self._registers[topic] = Register(self._node, members)
        return register

    # -- on the way down ------------------------------------------------------------------

    def _start_down(self, event: Event) -> None:
        self._send_each(event, self._register(event.topic).routes())

    def _pass_down(self, sender: NodeId, pub: Pub) -> None:
        if not isinstance(pub, RoutedPub):
            raise self._misled(pub)
        topic, behind = pub.event.topic, pub.behind
        known, way = self._passed_down.get(topic, ((), ()))
        if known != behind:
            way = routes(self._node, behind)
            self._passed_down[topic] = behind, way
        self._send_each(pub.event, way)

    def _send_each(self, event: Event, way: Routes) -> None:
        send = self._host.send
        for child, behind in way:
            send(child, RoutedPub(event, behind))
