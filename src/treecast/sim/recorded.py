"""Recorded workloads: who is subscribed to what and publishes what in which order, from a file.

The form is that of Pulsarcast's test harness (section 5): JSON lines, first a record for each
topic, then one for each user.

    {"type": "topic", "node": "node-3", "name": "news", "author": "ann", "totalNumberEvents": 2}
    {"type": "user", "name": "ann", "node": "node-3", "subscriptions": {"news": true},
     "events": [{"internalId": 0, "topic": "news"}, ...]}

`node-1` is node 0. A topic belongs to its record's node. Over all users `internalId` numbers
the events in the order in which they are published; what else a record holds is not read.

Invariant: whatever is wrong with a file is one line that names the file, the line, and what
would be right (`ScenarioError`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from treecast.core import NodeId, ScenarioError, Topic, TopicError, parse_topic
from treecast.core.keys import shown

_NODE = "node-"


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file says."""

    owners: Mapping[Topic, NodeId]
    """Each topic and the node that makes it, in the order of the records."""
    subscribers: Mapping[Topic, tuple[NodeId, ...]]
    """Sorted."""
    events: tuple[tuple[NodeId, Topic], ...]
    """In the order in which they are published."""

    @property
    def nodes_min(self) -> int:
        """The highest node's number and one."""
        listed = [node for nodes in self.subscribers.values() for node in nodes]
        return 1 + max([*listed, *self.owners.values()], default=0)


def read_recording(path: str) -> Recording:
    """Read the file at `path`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScenarioError(
            f"{path}: cannot be read ({reason}); give the path of a recorded workload"
        ) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8 text") from None
    return _parse(text, path)


@lru_cache(maxsize=8)
def _parse(text: str, path: str) -> Recording:
    """Cached by what the file holds: a scenario and its run ask for it several times."""
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            reader.read(line, number)
        except (ScenarioError, TopicError) as error:
            raise ScenarioError(f"{path}: line {number}: {error}") from None
    if not reader.events:
        raise ScenarioError(f"{path}: no user publishes anything; give at least one event")
    return Recording(
        owners=reader.owners,
        subscribers={topic: tuple(sorted(nodes)) for topic, nodes in reader.subscribers.items()},
        events=tuple(reader.events[number] for number in sorted(reader.events)),
    )


@dataclass(slots=True)
class _Reader:
    owners: dict[Topic, NodeId] = field(default_factory=dict)
    subscribers: dict[Topic, list[NodeId]] = field(default_factory=dict)
    events: dict[int, tuple[NodeId, Topic]] = field(default_factory=dict)
    users: dict[NodeId, int] = field(default_factory=dict)

    def read(self, line: str, number: int) -> None:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ScenarioError(f"not JSON: {' '.join(str(error).split())}; give one record a line") from None
        if not isinstance(record, dict):
            raise ScenarioError(f"{shown(record)} is no record; give an object with a type")
        match record.get("type"):
            case "topic":
                self._read_topic(record)
            case "user":
                self._read_user(record, number)
            case other:
                raise ScenarioError(f'type = {shown(other)}; give "topic" or "user"')

    def _read_topic(self, record: dict[str, Any]) -> None:
        name = parse_topic(_get(record, "name", str, "the topic's name"))
        if name in self.owners:
            raise ScenarioError(f"the topic {shown(name)} has a record already; give it one")
        self.owners[name] = _node(record)
        self.subscribers[name] = []

    def _read_user(self, record: dict[str, Any], number: int) -> None:
        node = _node(record)
        if node in self.users:
            raise ScenarioError(
                f"node-{node + 1} has the user of line {self.users[node]} already; give it one"
            )
        self.users[node] = number
        subscriptions = _get(record, "subscriptions", dict, "an object with a key for each topic")
        for name, is_subscribed in subscriptions.items():
            if not isinstance(is_subscribed, bool):
                raise ScenarioError(
                    f"subscriptions: {shown(name)} is {shown(is_subscribed)}; give true or false"
                )
            if is_subscribed:
                self.subscribers[self._topic(name, "subscriptions")].append(node)
        for event, place in _events(record):
            internal = _get(event, "internalId", int, "a whole number", place)
            topic = self._topic(_get(event, "topic", str, "a topic's name", place), place)
            if internal < 0 or internal in self.events:
                right = "give each event a number of its own, from 0 on"
                raise ScenarioError(f"{place}internalId = {internal} is negative or taken; {right}")
            if not subscriptions.get(topic):
                raise ScenarioError(
                    f"{place}topic = {shown(topic)}, to which the user is not subscribed; subscribe him to it"
                )
            self.events[internal] = (node, topic)

    def _topic(self, name: str, place: str) -> Topic:
        topic = parse_topic(name)
        if topic not in self.owners:
            raise ScenarioError(f"{place}: no record of the topic {shown(name)} before; give one")
        return topic


def _events(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each event of a user, and how an error names it."""
    for position, event in enumerate(_get(record, "events", list, "a list"), start=1):
        place = f"event {position}: "
        if not isinstance(event, dict):
            raise ScenarioError(f"{place}{shown(event)} is no object; give internalId and topic")
        yield event, place


def _get(record: dict[str, Any], key: str, kind: type, right: str, place: str = "") -> Any:
    if key not in record:
        raise ScenarioError(f"{place}the key {shown(key)} is missing; give {right}")
    value = record[key]
    if type(value) is not kind:  # a bool is no number here
        raise ScenarioError(f"{place}{key} = {shown(value)}; give {right}")
    return value


def _node(record: dict[str, Any]) -> NodeId:
    name = _get(record, "node", str, 'a node, as in "node-1"')
    digits = name.removeprefix(_NODE)
    if not name.startswith(_NODE) or not digits.isascii() or not digits.isdecimal() or digits[0] == "0":
        raise ScenarioError(f'node = {shown(name)}; give a node, as in "node-1"')
    return int(digits[:9]) - 1
