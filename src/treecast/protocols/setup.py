"""What every node of a network knows when it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treecast.core import Hierarchy, NodeId, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSettings:
    """The settings of a protocol that has none."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The nodes there are, the subscribers that each topic has before the first event, and settings.

    Both sequences are sorted. All nodes share this one object. `settings` is an instance
    of the class that the registry names for the protocol.
    """

    nodes: Sequence[NodeId]
    subscribers: Mapping[Topic, tuple[NodeId, ...]] = field(default_factory=dict)
    settings: object = field(default_factory=NoSettings)
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    owners: Mapping[Topic, NodeId] = field(default_factory=dict)
    """The nodes that make topics, where topics are somebody's and it is said whose."""
