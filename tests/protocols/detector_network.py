"""A network of VCube's detectors with a clock: drawn delays, and faults that the test puts in.

As in the simulator, what was under way when a node crashed still arrives in its next life.
"""

import heapq
from collections.abc import Callable, Sequence
from random import Random

from recording_host import PeerChanged, RecordingHost, Sent, TimerCancelled, TimerSet

from treecast.core import Message, NodeId, TimerKey, Topic
from treecast.protocols.vcube.detector import Detector
from treecast.protocols.vcube.pb_messages import Answer, Standing, Test
from treecast.protocols.vcube.settings import VCubePBSettings

EVERY_US = 1_000_000
TIMEOUT_US = 300_000
SETTINGS = VCubePBSettings(test_every_ms=EVERY_US / 1000, timeout_ms=TIMEOUT_US / 1000)
DELAY_US_MAX = 100_000
"""Of one flight: there and back is well within the timeout, unless a node is slow."""


class Heard:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.news: list[object] = []
        self.rounds = 0

    def on_round(self) -> None:
        self.rounds += 1

    def on_lost(self, node: NodeId, life: int) -> None:
        self.news.append(("lost", node, life))

    def on_found(self, node: NodeId) -> None:
        self.news.append(("found", node))

    def on_standing(self, standing: Standing) -> None:
        self.news.append(standing)

    def take(self) -> list[object]:
        """What it was told since this was last asked."""
        news, self.news = self.news, []
        return news


class DetectorNetwork:
    """Some detectors; `run` lets time pass."""

    def __init__(self, nodes: Sequence[NodeId], seed: int) -> None:
        self.nodes = sorted(nodes)
        self.now_us = 0
        self.live: dict[NodeId, Detector] = {}
        self.heard: dict[NodeId, Heard] = {}
        self.cut: set[tuple[NodeId, NodeId]] = set()  # what is sent there is lost
        self.slow_us: dict[NodeId, int] = {}  # how much later everything from these nodes arrives
        self._hosts: dict[NodeId, RecordingHost] = {}
        self._lives = dict.fromkeys(self.nodes, -1)
        self._timers: dict[tuple[NodeId, TimerKey], int] = {}  # the entry that counts
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._entries = 0
        self._random = Random(seed)
        for node in self.nodes:
            self.begin_life(node)

    def begin_life(self, node: NodeId) -> None:
        self._lives[node] += 1
        host = RecordingHost(self._random.getrandbits(32), self._lives[node])
        self._hosts[node] = host
        self.heard[node] = Heard()
        self.live[node] = Detector(host, node, self.nodes, SETTINGS, self.heard[node])
        self.live[node].start()
        self._collect(node)

    def crash(self, node: NodeId) -> None:
        del self.live[node]
        for key in [key for key in self._timers if key[0] == node]:
            del self._timers[key]

    def declare(self, node: NodeId, topic: Topic, *, subscriber: bool) -> None:
        self.live[node].declare(topic, subscriber=subscriber, publisher=False)
        self._collect(node)

    def run(self, for_us: int) -> None:
        until_us = self.now_us + for_us
        while self._agenda and self._agenda[0][0] <= until_us:
            self.now_us, _, happens = heapq.heappop(self._agenda)
            happens()
        self.now_us = until_us

    def _plan(self, after_us: int, happens: Callable[[], None]) -> int:
        self._entries += 1
        heapq.heappush(self._agenda, (self.now_us + after_us, self._entries, happens))
        return self._entries

    def _collect(self, node: NodeId) -> None:
        for deed in self._hosts[node].take():
            match deed:
                case Sent(to, message):
                    self._send(node, to, message)
                case TimerSet(key, after_us):
                    self._set_timer(node, key, after_us)
                case TimerCancelled(key):
                    self._timers.pop((node, key), None)
                case PeerChanged():
                    pass  # the listener has been told as well
                case _:
                    raise AssertionError(f"a detector does no such thing: {deed}")

    def _send(self, sender: NodeId, to: NodeId, message: Message) -> None:
        delay_us = self._random.randint(1, DELAY_US_MAX) + self.slow_us.get(sender, 0)
        if (sender, to) not in self.cut:
            self._plan(delay_us, lambda: self._arrive(sender, to, message))

    def _arrive(self, sender: NodeId, to: NodeId, message: Message) -> None:
        if to not in self.live:
            return
        if isinstance(message, Test):
            self.live[to].on_test(sender, message)
        else:
            assert isinstance(message, Answer)
            self.live[to].on_answer(sender, message)
        self._collect(to)

    def _set_timer(self, node: NodeId, key: TimerKey, after_us: int) -> None:
        def run_out() -> None:
            if self._timers.get((node, key)) == entry:
                del self._timers[node, key]
                self._hosts[node].clock_us = self.now_us
                assert self.live[node].timer(key)
                self._collect(node)

        entry = self._plan(after_us, run_out)
        self._timers[node, key] = entry
