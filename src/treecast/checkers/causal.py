"""Causal order: no node delivers an event after one that it happened before (VCube-PS, section 3).

Happened-before, topic by topic, comes from the journal alone: what a node publishes
comes after all that it has delivered or published on the topic, and so on from node to
node. An event that a node never delivers breaks nothing there. A node that starts again
is another node to this rule: what its earlier lives delivered and published came before
nothing that it publishes now, and it may deliver it again.

How it stays quick: the pasts of events are bit sets in blocks. A node's `known` set is
all that it has delivered, with everything that happened before. It is closed: with an
event, its whole past is in it. So the past of a new event is its publisher's previous
event, that one's past, and what the publisher has come to know since; only this last
part is kept (`_Publication.news`). A delivered event enters a known set with its news,
then its publisher's previous event with its own, until one is in already.

Invariants:
- `_Node.known` is closed under happened-before between two steps;
- an event found in the known set of a node that has not delivered it is a violation:
  something delivered before it came after it.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyarrow as pa

from treecast.checkers.interests import CAUSAL_ORDER, not_promised
from treecast.checkers.lives import CUTS
from treecast.checkers.report import Tally, Verdict, name_event
from treecast.checkers.rows import select, walk
from treecast.core import EventId, NodeId
from treecast.journal import Kind

_BLOCK_BITS = 12
_BLOCK_MASK = (1 << _BLOCK_BITS) - 1

_PUBLISH = str(Kind.PUBLISH)
_COLUMNS = ("node", "kind", "topic", "source", "sequence")

_Key: TypeAlias = tuple[NodeId, int]
"""An `EventId`, as a plain tuple: a million of them are made on the way."""

_Step: TypeAlias = tuple[int, NodeId, bool, _Key]
"""Row, node, whether it publishes (else it delivers), and the event."""


class _BitSet:
    """Numbers of events, a bit each, in blocks, so that a long journal costs no long copies."""

    __slots__ = ("blocks",)

    def __init__(self, blocks: list[int] | None = None) -> None:
        self.blocks: list[int] = blocks if blocks is not None else []

    def __contains__(self, number: int) -> bool:
        block = number >> _BLOCK_BITS
        return block < len(self.blocks) and bool(self.blocks[block] >> (number & _BLOCK_MASK) & 1)

    def add(self, number: int) -> None:
        block = number >> _BLOCK_BITS
        if block >= len(self.blocks):
            self.blocks.extend([0] * (block + 1 - len(self.blocks)))
        self.blocks[block] |= 1 << (number & _BLOCK_MASK)

    def unite(self, parts: Iterable[tuple[int, int]]) -> None:
        for block, bits in parts:
            if block >= len(self.blocks):
                self.blocks.extend([0] * (block + 1 - len(self.blocks)))
            self.blocks[block] |= bits

    def beyond(self, other: "_BitSet") -> Iterator[tuple[int, int]]:
        """What is here and not in `other`, as blocks."""
        for block, bits in enumerate(self.blocks):
            old = other.blocks[block] if block < len(other.blocks) else 0
            if bits & ~old:
                yield block, bits & ~old

    def copy(self) -> "_BitSet":
        return _BitSet(self.blocks.copy())


class _Publication:
    """An event: its number, its publisher's previous one, and as news itself and what was learned since."""

    __slots__ = ("event", "news", "number", "previous")

    def __init__(
        self,
        event: _Key,
        number: int,
        previous: "_Publication | None",
        news: tuple[tuple[int, int], ...],
    ) -> None:
        self.event = event
        self.number = number
        self.previous = previous
        self.news = news


class _Node:
    """What one node has done on one topic in its present life."""

    __slots__ = ("delivered", "known", "last", "order", "rows", "told", "waiting")

    def __init__(self) -> None:
        self.known = _BitSet()
        self.delivered = _BitSet()
        self.order: list[_Publication] = []  # what it delivered, and in which rows
        self.rows = array("q")
        self.last: _Publication | None = None
        self.told = _BitSet()  # the past of `last`, and `last`
        self.waiting: deque[_Step] = deque()


class _Topic:
    """Walks through one topic's steps, each after all that it depends on.

    Row order is not enough: at one instant the rows of one node stand before those of
    another, whichever happened first. A node that delivers an event whose publication is
    yet to come therefore waits for it, with all of its later steps.
    """

    def __init__(self, name: str, times_us: pa.ChunkedArray, tally: Tally) -> None:
        self._name = name
        self._times_us = times_us
        self._tally = tally
        self._nodes: dict[NodeId, _Node] = {}
        self._published: dict[_Key, _Publication] = {}
        self._blocked: dict[_Key, list[_Node]] = {}

    def restart(self, name: NodeId) -> None:
        """The node's life has ended; steps of it that wait still come about."""
        self._nodes.pop(name, None)

    def take(self, step: _Step) -> None:
        row, name, publishes, event = step
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = _Node()
        if node.waiting:
            node.waiting.append(step)
        elif publishes:
            self._publish(node, event)
            for waiter in self._blocked.pop(event, ()):
                self._go_on(waiter)
        elif not self._deliver(node, row, name, event):
            self._wait(node, step)

    def finish(self) -> None:
        """Steps still waiting depend on themselves: report the first of each circle and go on without it."""
        while self._blocked:
            node = min(
                (waiter for waiters in self._blocked.values() for waiter in waiters),
                key=lambda waiter: waiter.waiting[0],
            )
            row, name, _, event = node.waiting.popleft()
            time_us = self._time_us(row)
            self._tally.violate(
                f"topic {self._name}: node {name} delivered event {name_event(event)} at {time_us} us "
                f"(row {row}), though that event happened after something that this node did only later",
                rows=(row,),
                times_us=(time_us,),
                nodes=(name,),
                events=(EventId(*event),),
            )
            self._tally.checked += 1
            self._blocked[event].remove(node)
            if not self._blocked[event]:
                del self._blocked[event]
            self._go_on(node)

    def _wait(self, node: _Node, step: _Step) -> None:
        node.waiting.appendleft(step)
        self._blocked.setdefault(step[3], []).append(node)

    def _go_on(self, node: _Node) -> None:
        """Take a node's waiting steps until it must wait again, and so with all whom that sets free."""
        ready = [node]
        while ready:
            node = ready.pop()
            while node.waiting:
                step = node.waiting.popleft()
                row, name, publishes, event = step
                if publishes:
                    self._publish(node, event)
                    ready.extend(self._blocked.pop(event, ()))
                elif not self._deliver(node, row, name, event):
                    self._wait(node, step)
                    break

    def _publish(self, node: _Node, event: _Key) -> None:
        number = len(self._published)
        past = node.known.copy()
        past.unite(node.told.beyond(past))
        past.add(number)
        news = tuple(past.beyond(node.told))
        self._published[event] = node.last = _Publication(event, number, node.last, news)
        node.told = past

    def _deliver(self, node: _Node, row: int, name: NodeId, event: _Key) -> bool:
        """Whether the delivery could be judged; if not, the event is yet to be published."""
        publication = self._published.get(event)
        if publication is None:
            return False
        number = publication.number
        if number in node.known:
            if number in node.delivered:
                return True
            self._report(node, row, name, publication)
        else:
            _learn(node.known, publication)
        self._tally.checked += 1
        node.delivered.add(number)
        node.order.append(publication)
        node.rows.append(row)
        return True

    def _report(self, node: _Node, row: int, name: NodeId, late: _Publication) -> None:
        if self._tally.is_full:
            self._tally.violate("")
            return
        early_row, early = self._first_that_knew(node, late.number)
        time_us, early_us = self._time_us(row), self._time_us(early_row)
        self._tally.violate(
            f"topic {self._name}: node {name} delivered event {name_event(late.event)} at {time_us} us "
            f"(row {row}) after event {name_event(early.event)} at {early_us} us (row {early_row}), "
            "which it happened before",
            rows=(row, early_row),
            times_us=(time_us, early_us),
            nodes=(name,),
            events=(EventId(*late.event), EventId(*early.event)),
        )

    def _first_that_knew(self, node: _Node, number: int) -> tuple[int, _Publication]:
        """Go through the node's deliveries again, up to the first with that event in its past."""
        known = _BitSet()
        for row, publication in zip(node.rows, node.order, strict=True):
            _learn(known, publication)
            if number in known:
                return row, publication
        raise AssertionError("a known event came with one of the deliveries")

    def _time_us(self, row: int) -> int:
        return int(self._times_us[row].as_py())


def _learn(known: _BitSet, publication: _Publication) -> None:
    """Enter an event with its past."""
    event: _Publication | None = publication
    while event is not None and event.number not in known:
        known.unite(event.news)
        event = event.previous


def check_causal_order(journal: pa.Table) -> Verdict:
    """Judge the order of deliveries; what was never published is left to `delivery`."""
    tally = Tally(CAUSAL_ORDER, "no node delivers an event after one that it happened before")
    if (reason := not_promised(journal, CAUSAL_ORDER)) is not None:
        return tally.skip(reason)
    published_in: dict[tuple[str, _Key], int] = {}
    for row, *_, topic, source, sequence in walk(select(journal, (Kind.PUBLISH,), _COLUMNS)):
        published_in.setdefault((topic, (source, sequence)), row)
    topics: dict[str, _Topic] = {}
    for row, node, kind, topic, source, sequence in walk(
        select(journal, (Kind.PUBLISH, Kind.DELIVER, *CUTS), _COLUMNS)
    ):
        event = (source, sequence)
        published_row = published_in.get((topic, event))
        if published_row is None or (kind == _PUBLISH and row != published_row):
            if topic is None:  # a crash or a recovery
                for state in topics.values():
                    state.restart(node)
            continue
        found = topics.get(topic)
        if found is None:
            found = topics[topic] = _Topic(topic, journal["time_us"], tally)
        found.take((row, node, kind == _PUBLISH, event))
    for state in topics.values():
        state.finish()
    return tally.verdict()
