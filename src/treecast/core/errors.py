"""Errors: ours against the peer's, and what a message of ours looks like.

Every message says what is wrong, where, and what would be right. `UsageError` and its
kinds are the caller's fault and reach him as an exception at the call; `PeerError` is
another node's fault: a real network's host counts it and goes on, a simulation, in which
all nodes run our code, ends with it.
"""


class TreecastError(Exception):
    """Whatever treecast raises on purpose."""


class UsageError(TreecastError):
    """The caller asked for something that cannot be done; the message says what can."""


class TopicError(UsageError):
    """A topic's name is not valid."""


class NotSubscribedError(UsageError):
    """Publishing or unsubscribing where this node is not subscribed."""


class AlreadySubscribedError(UsageError):
    """Subscribing to a topic twice."""


class ScenarioError(UsageError):
    """A scenario says something that cannot be run."""


class JournalError(UsageError):
    """A file is not a journal that this version reads."""


class PeerError(TreecastError):
    """Another node broke the protocol."""
