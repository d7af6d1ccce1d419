"""The topic hierarchy: which topics include which (CAMCAST, sections 2.1 and 3.6).

A topic's first super-topic is the one in its name, `soccer` for `soccer.italy`; it may
have further ones, and then it is included by all of them (multiple inheritance).

Invariants: no topic includes itself; the same topics give the same orders everywhere.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from treecast.core.errors import TopicError
from treecast.core.topics import Topic, parent

_NONE: Mapping[Topic, Sequence[Topic]] = MappingProxyType({})


class Hierarchy:
    """The inclusions among topics; topics that nobody has named yet have their place by their names."""

    __slots__ = ("_above", "_further")

    def __init__(self, further: Mapping[Topic, Sequence[Topic]] = _NONE) -> None:
        """`further`: of some topics, the super-topics besides the one in the name."""
        self._further = {topic: tuple(parents) for topic, parents in further.items() if parents}
        self._above: dict[Topic, tuple[tuple[Topic, ...], ...]] = {}
        for topic in self._further:
            self._refuse_cycle(topic)

    def parents(self, topic: Topic) -> tuple[Topic, ...]:
        """The direct super-topics, that of the name first."""
        named = parent(topic)
        direct = (named, *self._further.get(topic, ())) if named is not None else self._further.get(topic, ())
        return tuple(dict.fromkeys(direct))

    def generations(self, topic: Topic) -> tuple[tuple[Topic, ...], ...]:
        """All super-topics: the direct ones, then theirs, and so on; each once, where it is nearest."""
        found = self._above.get(topic)
        if found is None:
            found = self._above[topic] = self._generations(topic)
        return found

    def above(self, topic: Topic) -> tuple[Topic, ...]:
        """All super-topics, nearest first."""
        return tuple(each for generation in self.generations(topic) for each in generation)

    def covers(self, super_topic: Topic, topic: Topic) -> bool:
        """Whether who is interested in `super_topic` is interested in events of `topic`."""
        return topic == super_topic or any(super_topic in each for each in self.generations(topic))

    def _generations(self, topic: Topic) -> tuple[tuple[Topic, ...], ...]:
        seen: set[Topic] = {topic}
        found: list[tuple[Topic, ...]] = []
        last: tuple[Topic, ...] = (topic,)
        while last:
            parents = dict.fromkeys(each for below in last for each in self.parents(below))
            last = tuple(each for each in parents if each not in seen)
            seen.update(last)
            if last:
                found.append(last)
        return tuple(found)

    def _refuse_cycle(self, topic: Topic) -> None:
        for each in (topic, *self.above(topic)):
            if topic in self.parents(each):
                raise TopicError(
                    f"topic {topic!r} would include itself, being a parent of {each!r}; leave out one parent"
                )
