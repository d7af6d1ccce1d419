"""A plain discrete-event engine: one heap of calls to make, in the order of time.

What one would write first; the yardstick for the windowed engine. It runs the same
protocol classes through the same packet model (ACKs charged), and leaves Python's
garbage collector as it is.
"""

from array import array
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

from treecast.core import Event, EventId, Message, NodeId, TimerKey, Topic
from treecast.protocols.registry import protocol_named
from treecast.protocols.setup import Setup
from treecast.sim.scenario import PacketNetwork, Scenario
from treecast.sim.workloads import initial_subscribers, inputs


class PlainEngine:
    """A clock and a heap."""

    def __init__(self) -> None:
        self.now_us = 0
        self.hops = 0
        self.published_us: dict[EventId, int] = {}
        self.latencies_us = array("q")
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def at(self, time_us: int, call: Callable[..., None], *arguments: object) -> None:
        self._count += 1
        heappush(self._heap, (time_us, self._count, call, arguments))

    def run(self) -> None:
        while self._heap:
            self.now_us, _, call, arguments = heappop(self._heap)
            call(*arguments)


class PlainHost:
    """One node: a processor, a link, a machine."""

    random = Random(0)
    life = 0

    def __init__(self, engine: PlainEngine, node: NodeId, network: PacketNetwork) -> None:
        self.engine = engine
        self.node = node
        self.network = network
        self.others: dict[NodeId, PlainHost] = {}
        self.machine: Any = None
        self._busy_us = self._line_free_us = 0

    def now(self) -> int:
        return self.engine.now_us

    def send(self, to: NodeId, message: Message) -> None:
        begin = max(self.engine.now_us, self._line_free_us)
        self._line_free_us = begin + self.network.transmission_us
        arrival = self._line_free_us + self.network.propagation_us
        self.engine.at(arrival, self.others[to].arrive, self.node, message)

    def arrive(self, sender: NodeId, message: Message) -> None:
        self._busy_us = max(self.engine.now_us, self._busy_us) + self.network.processing_us
        self.engine.at(self._busy_us, self.handle, sender, message)

    def handle(self, sender: NodeId, message: Message) -> None:
        self.engine.hops += 1
        self.machine.receive(sender, message)

    def published(self, event: Event) -> None:
        self.engine.published_us[event.id] = self.engine.now_us

    def deliver(self, event: Event) -> None:
        engine = self.engine
        if event.id.publisher != self.node:
            engine.latencies_us.append(engine.now_us - engine.published_us[event.id])

    def joined(self, topic: Topic) -> None: ...

    def peer_changed(self, peer: NodeId, *, alive: bool) -> None: ...

    def set_timer(self, key: TimerKey, after_us: int) -> None:
        raise NotImplementedError("the benchmark's protocol sets no timers")

    def cancel_timer(self, key: TimerKey) -> None:
        raise NotImplementedError("the benchmark's protocol sets no timers")


def run_plain(scenario: Scenario) -> PlainEngine:
    """Run a scenario of publications; return the engine with what it counted."""
    assert isinstance(scenario.network, PacketNetwork)
    engine = PlainEngine()
    subscribers = initial_subscribers(scenario)
    setup = Setup(tuple(range(scenario.nodes)), subscribers)
    make_machine = protocol_named(scenario.protocol).make
    hosts = {node: PlainHost(engine, node, scenario.network) for node in setup.nodes}
    for node, host in hosts.items():
        host.others = hosts
        host.machine = make_machine(host, node, setup)
        host.machine.start()
    for each in inputs(scenario, subscribers):
        engine.at(each.at_us, hosts[each.node].machine.publish, each.topic, b"")
    engine.run()
    return engine
