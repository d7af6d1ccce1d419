"""Topics: dot-separated names that form a hierarchy (CAMCAST, section 2).

`soccer.italy` lies under `soccer`. A validated name is a `Topic`, which at run time
is a plain `str`: topics are dictionary keys on every hop, and a subclass of `str`
hashes more slowly. Only `parse_topic` makes one from outside text.
"""

from typing import NewType

from treecast.core.errors import TopicError

Topic = NewType("Topic", str)

SEPARATOR = "."
TOPIC_BYTES_MAX = 255
"""Longest name in UTF-8: it travels in every message and is a key in every store."""


def parse_topic(name: str) -> Topic:
    """Validate `name`; raise `TopicError` that says what is wrong and what would be right."""
    if not isinstance(name, str):
        raise TopicError(f"topic {name!r} is a {type(name).__name__}; a topic is text, as in 'chat.room1'")
    if not name:
        raise TopicError("topic '' is empty; name at least one segment, as in 'chat.room1'")
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > TOPIC_BYTES_MAX:
        raise TopicError(
            f"topic {name[:32]!r}... is {size} bytes long; at most {TOPIC_BYTES_MAX} are allowed"
        )
    for position, segment in enumerate(name.split(SEPARATOR), start=1):
        if not segment:
            right = SEPARATOR.join(part for part in name.split(SEPARATOR) if part) or "chat.room1"
            raise TopicError(f"topic {name!r} has an empty segment (number {position}); write {right!r}")
        if not segment.isprintable() or " " in segment:
            raise TopicError(
                f"topic {name!r} has a blank or unprintable character in segment {segment!r}; "
                "use letters, digits, '-' and '_'"
            )
    return Topic(name)


def segments(topic: Topic) -> tuple[str, ...]:
    """The names along the path: `soccer.italy` gives `("soccer", "italy")`."""
    return tuple(topic.split(SEPARATOR))


def parent(topic: Topic) -> Topic | None:
    """The direct super-topic, or None for a topic at the top."""
    head, separator, _ = topic.rpartition(SEPARATOR)
    return Topic(head) if separator else None


def covers(super_topic: Topic, topic: Topic) -> bool:
    """Whether a subscriber of `super_topic` is interested in events of `topic`."""
    return topic == super_topic or topic.startswith(super_topic + SEPARATOR)
