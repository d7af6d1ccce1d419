"""What every node of a network knows when it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treecast.core import NodeId, Topic


@dataclass(frozen=True, slots=True)
class Setup:
    """The nodes there are, and the subscribers that each topic has before the first event.

    Both sequences are sorted. All nodes share this one object.
    """

    nodes: Sequence[NodeId]
    subscribers: Mapping[Topic, tuple[NodeId, ...]] = field(default_factory=dict)
