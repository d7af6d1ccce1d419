"""SRPT-S and SRPT-B: a static tree a topic, pruned to its subscribers (VCube-PS 2018, section 4).

As in Scribe, a node knows of a topic's tree only its own branch: which of its children want
events. Who subscribes, or has a child that does, asks its parent to be grafted, and so up
to the first node whose branch stands already; who needs nothing more is pruned. On the way
stand nodes that are not subscribed, the forwarders. SRPT-S spans the tree over all nodes;
SRPT-B over the brokers, with the other nodes as leaves below them (section 4.6).

Invariants:
- a node is grafted, or waits to be, exactly while it is subscribed or a child is noted;
- a child is told that it is grafted only when its parent is, and then all the way to the
  root each node has noted the next; none takes that back as long as the child stays;
- what a parent has noted of a child is the latest operation of that child that has reached
  it, in whatever order they came.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from treecast.core import Event, EventId, Host, Message, NodeId, PeerError, ScenarioError, Topic
from treecast.core.keys import Count
from treecast.protocols.baselines.backbone import Backbone, evenly_spaced
from treecast.protocols.baselines.messages import Graft, Grafted, Prune
from treecast.protocols.baselines.single_root import RootSettings, SingleRoot
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.messages import Pub
from treecast.protocols.vcube.view import is_member

NODES_PER_BROKER = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings(RootSettings):
    """SRPT-B's: also how many of the nodes are brokers."""

    brokers: Count | None = None
    """Evenly spaced among the nodes; None: one broker for each sixteen nodes begun, as in the
    middle one of the paper's configurations."""


class Branch:
    """A node's place in a topic's tree."""

    __slots__ = ("asking", "backbone", "children", "grafted", "operation", "operations", "parent")

    def __init__(self, backbone: Backbone, parent: NodeId | None, children: tuple[NodeId, ...]) -> None:
        self.backbone = backbone
        self.parent = parent
        self.children = children  # who wants events, in sending order
        self.operations: dict[NodeId, int] = {}  # of each child, the counter of its latest operation
        self.asking: dict[NodeId, EventId] = {}  # the Grafts to be answered when this node is grafted
        self.operation: EventId | None = None  # the own Graft that awaits the parent's answer
        self.grafted = parent is None  # the root passes on to this node


class PrunedTree(SingleRoot):
    """One node of SRPT-S or SRPT-B."""

    def __init__(self, host: Host, node: NodeId, setup: Setup, brokers: Sequence[NodeId]) -> None:
        super().__init__(host, node, setup, brokers)
        self._brokers = brokers
        self._branches: dict[Topic, Branch] = {}

    # -- on the way down ------------------------------------------------------------------

    def _start_down(self, event: Event) -> None:
        self._send_down(Pub(event))

    def _pass_down(self, sender: NodeId, pub: Pub) -> None:
        self._send_down(pub)

    def _send_down(self, pub: Pub) -> None:
        branch = self._branch(pub.event.topic)
        send = self._host.send
        for child in branch.children:
            send(child, pub)

    def _branch(self, topic: Topic) -> Branch:
        """This node's branch; at first as the subscribers that were there from the start make it."""
        branch = self._branches.get(topic)
        if branch is None:
            backbone = Backbone(self._brokers, self.root_of(topic))
            subscribers = () if self._host.life else self._setup.subscribers.get(topic, ())
            branch = Branch(backbone, backbone.parent(self._node), backbone.children(self._node, subscribers))
            branch.grafted = branch.grafted or bool(branch.children) or is_member(self._node, subscribers)
            self._branches[topic] = branch
        return branch

    # -- the branch -----------------------------------------------------------------------

    def _attach(self, topic: Topic) -> None:
        branch = self._branch(topic)
        if branch.grafted:
            self._ask_root(topic)
        else:
            self._graft(topic, branch)

    def _detach(self, topic: Topic) -> None:
        self._prune(topic, self._branch(topic))

    def _graft(self, topic: Topic, branch: Branch) -> None:
        """Ask the parent to pass on to this node, unless it does or has been asked already."""
        if branch.parent is not None and not branch.grafted and branch.operation is None:
            branch.operation = self._next_origin()
            self._host.send(branch.parent, Graft(topic, branch.operation))

    def _prune(self, topic: Topic, branch: Branch) -> None:
        """Tell the parent that nobody here wants events any more, if that is so."""
        if branch.parent is None or branch.children or self._subscribed(topic):
            return
        branch.grafted = False
        branch.operation = None
        self._host.send(branch.parent, Prune(topic, self._next_origin()))

    def _on_operation(self, sender: NodeId, message: Message) -> None:
        if type(message) is Graft:
            self._on_graft(sender, message)
        elif type(message) is Prune:
            self._on_prune(sender, message)
        elif type(message) is Grafted:
            self._on_grafted(message)
        else:
            super()._on_operation(sender, message)

    def _on_graft(self, child: NodeId, graft: Graft) -> None:
        topic = graft.topic
        branch = self._branch(topic)
        if branch.backbone.parent(child) != self._node:
            raise PeerError(
                f"node {child} sent a GRAFT on {topic!r} to node {self._node}, which is not its parent; "
                f"that is {branch.backbone.parent(child)}"
            )
        if not self._is_news(branch, graft):
            return
        if child not in branch.children:
            branch.children = branch.backbone.in_order(self._node, (*branch.children, child))
        if branch.grafted:
            self._host.send(child, Grafted(topic, graft.origin))
        else:
            branch.asking[child] = graft.origin
            self._graft(topic, branch)

    def _on_prune(self, child: NodeId, prune: Prune) -> None:
        branch = self._branch(prune.topic)
        if not self._is_news(branch, prune) or child not in branch.children:
            return  # overtaken by a later operation, or it has overtaken the Graft that it takes back
        branch.children = tuple(each for each in branch.children if each != child)
        branch.asking.pop(child, None)
        self._prune(prune.topic, branch)

    def _is_news(self, branch: Branch, operation: Graft | Prune) -> bool:
        child, counter = operation.origin
        if counter <= branch.operations.get(child, 0):
            return False
        branch.operations[child] = counter
        return True

    def _on_grafted(self, grafted: Grafted) -> None:
        topic = grafted.topic
        branch = self._branch(topic)
        if grafted.origin != branch.operation:
            return  # the answer to a Graft that has been taken back since
        branch.operation = None
        branch.grafted = True
        asking, branch.asking = branch.asking, {}
        for child, graft in asking.items():
            self._host.send(child, Grafted(topic, graft))
        if self._subscribed(topic):
            self._ask_root(topic)


class SrptS(PrunedTree):
    """One node of SRPT-S: the tree spans all nodes."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        super().__init__(host, node, setup, setup.nodes)


class SrptB(PrunedTree):
    """One node of SRPT-B: the tree spans the brokers, the other nodes are leaves below them."""

    def __init__(self, host: Host, node: NodeId, setup: Setup) -> None:
        super().__init__(host, node, setup, _brokers(setup))


def _brokers(setup: Setup) -> Sequence[NodeId]:
    settings, nodes = setup.settings, len(setup.nodes)
    assert isinstance(settings, BrokerSettings)
    count = -(-nodes // NODES_PER_BROKER) if settings.brokers is None else settings.brokers
    if count > nodes:
        raise ScenarioError(f"[settings]: brokers = {count}; there are only {nodes} nodes to choose from")
    return evenly_spaced(setup.nodes, count)
