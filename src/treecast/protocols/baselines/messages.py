"""The messages of the single-root systems; events travel in VCube's `Pub`.

An operation is known by its origin: the node that speaks of itself and that node's counter.
Of two on one link the later one counts, so that links need not keep order.
"""

from typing import ClassVar

from treecast.core import EventId, NodeId
from treecast.protocols.vcube.messages import OperationMessage, Pub


class Sub(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin subscribes; goes to the topic's root."""

    kind: ClassVar[str] = "SUB"


class Uns(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin has unsubscribed; goes to the topic's root, where that keeps the members."""

    kind: ClassVar[str] = "UNS"


class Welcome(OperationMessage, frozen=True, gc=False, array_like=True):
    """The root's answer to a `Sub`: what it had passed on before is not for the newcomer.

    `passed`: of each source the last such event. Everything after it reaches the newcomer.
    """

    passed: tuple[EventId, ...]

    kind: ClassVar[str] = "ACK"
    is_ack: ClassVar[bool] = True


class Graft(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin wants its parent to pass events on to it."""

    kind: ClassVar[str] = "GRAFT"


class Prune(OperationMessage, frozen=True, gc=False, array_like=True):
    """The origin wants no more events from its parent."""

    kind: ClassVar[str] = "PRUNE"


class Grafted(OperationMessage, frozen=True, gc=False, array_like=True):
    """The parent's answer to a `Graft`: what the root passes on from now on comes down to the child."""

    kind: ClassVar[str] = "ACK"
    is_ack: ClassVar[bool] = True


class RoutedPub(Pub, frozen=True, gc=False, array_like=True):
    """An event and the subscribers, sorted, for whom its receiver answers, itself among them."""

    behind: tuple[NodeId, ...]
