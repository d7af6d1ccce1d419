"""The contract that every protocol, host and tool is written against."""

from treecast.core.contract import Host, Machine, Message, TimerKey
from treecast.core.errors import (
    AlreadySubscribedError,
    JournalError,
    NotSubscribedError,
    PeerError,
    ScenarioError,
    TopicError,
    TreecastError,
    UsageError,
)
from treecast.core.events import Event, EventId, Source, first_sequence
from treecast.core.hierarchy import Hierarchy
from treecast.core.ids import ID_BITS, NodeId, journal_number
from treecast.core.topics import Topic, covers, parent, parse_topic, segments

__all__ = [
    "ID_BITS",
    "AlreadySubscribedError",
    "Event",
    "EventId",
    "Hierarchy",
    "Host",
    "JournalError",
    "Machine",
    "Message",
    "NodeId",
    "NotSubscribedError",
    "PeerError",
    "ScenarioError",
    "Source",
    "TimerKey",
    "Topic",
    "TopicError",
    "TreecastError",
    "UsageError",
    "covers",
    "first_sequence",
    "journal_number",
    "parent",
    "parse_topic",
    "segments",
]
