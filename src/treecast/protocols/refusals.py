"""What machines say when an application asks for what its membership does not allow."""

from treecast.core import AlreadySubscribedError, NodeId, NotSubscribedError, Topic, UsageError


def already_subscribed(node: NodeId, topic: Topic) -> AlreadySubscribedError:
    return AlreadySubscribedError(f"node {node} is subscribed to {topic!r} already; unsubscribe first")


def not_subscribed(node: NodeId, topic: Topic) -> NotSubscribedError:
    return NotSubscribedError(
        f"node {node} cannot unsubscribe from {topic!r}: it is not subscribed; subscribe first"
    )


def already_registered(node: NodeId, topic: Topic) -> UsageError:
    return UsageError(f"node {node} is registered on {topic!r} already; unregister first")


def not_registered(node: NodeId, topic: Topic) -> UsageError:
    return UsageError(f"node {node} cannot unregister from {topic!r}: it is not registered; register first")


def cannot_publish(node: NodeId, topic: Topic) -> NotSubscribedError:
    return NotSubscribedError(
        f"node {node} cannot publish to {topic!r}: it is neither subscribed nor registered; "
        "subscribe or register first"
    )
