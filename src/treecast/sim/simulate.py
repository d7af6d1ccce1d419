"""One run of a scenario, from its text to its result.

Invariant: the same scenario gives the same journal, byte for byte, on any machine, under
any PYTHONHASHSEED, in either engine.
"""

import gc
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from treecast import __version__
from treecast.core import NodeId, ScenarioError, Topic
from treecast.protocols.registry import PROMISES, protocol_named
from treecast.protocols.setup import Setup
from treecast.sim.event_order import EventOrderEngine, EventOrderHost, FaultyEventOrderHost
from treecast.sim.faults import Faults, fault_ends_us
from treecast.sim.faulty_host import Fate, FaultyHost
from treecast.sim.host import Input, Progress, ProgressCallback
from treecast.sim.network import Link, flight_us_min, make_link
from treecast.sim.observer import Level, Observer
from treecast.sim.result import Ending, Result, Traffic
from treecast.sim.scenario import Scenario
from treecast.sim.tally import Tally, refuse_without_effect, tallies_of
from treecast.sim.windowed import FaultyWindowedHost, WindowedEngine, WindowedHost
from treecast.sim.workloads import initial_subscribers, inputs, publishing_nodes

if TYPE_CHECKING:
    import pyarrow as pa

    from treecast.journal.recorder import Recorder

EngineName: TypeAlias = Literal["windowed", "event-order"]
Engine: TypeAlias = WindowedEngine | EventOrderEngine

PROGRESS_EVERY_S = 0.1
"""Not more often than a reader can see."""


def simulate(
    scenario: Scenario,
    *,
    journal: Level = "all",
    engine: EngineName | None = None,
    progress: ProgressCallback | None = None,
) -> Result:
    """Run `scenario`; `engine` None takes the windowed one wherever it applies."""
    begin_wall_s, begin_cpu_s = time.perf_counter(), time.process_time()
    recorder = _recorder(scenario, journal)
    entry = protocol_named(scenario.protocol)
    observer = Observer(recorder, messages=journal == "all")
    observer.hierarchy = scenario.hierarchy if entry.topics == "hierarchy" else None
    observer.ordered = "causal order" in entry.promises(scenario.settings)
    runner = _engine(scenario, engine)
    report = _Reporter(observer, progress)
    report.tell(0)
    tallies = tallies_of(scenario)
    links = [make_link(scenario.network, scenario.seed, node) for node in range(scenario.nodes)]
    planned = _populate(runner, scenario, links, observer, tallies)
    report.planned = sum(each.do == "publish" for each in planned)
    until_us = _until_us(scenario, planned)
    now_us = 0
    with _no_cyclic_garbage_collection():
        while (reached_us := runner.step(until_us)) is not None:
            now_us = reached_us
            report.step(now_us)
    report.tell(now_us)
    for end_us in fault_ends_us(scenario):
        observer.healed(end_us)
    refuse_without_effect(list(tallies.values()))
    ending = _ending(scenario, runner)
    table = _journal(recorder, scenario, ending, observer.healed_us)
    traffic = _traffic(observer, runner)
    reception_ms, delivery_ms = observer.latencies_ms()
    return Result(
        scenario=scenario,
        version=__version__,
        journal=table,
        messages=traffic,
        reception_latency_ms=reception_ms,
        delivery_latency_ms=delivery_ms,
        events_published=observer.published,
        events_delivered=observer.delivered,
        false_positives=observer.false_positives,
        messages_refused=observer.refused,
        counts=dict(sorted(observer.counts.items())),
        queue_wait_ms=_queue_wait_ms(links),
        simulated_ms=max((host.now_us for host in runner.hosts.values()), default=0) / 1000,
        ending=ending,
        inputs_skipped=dict(sorted(observer.inputs_skipped.items())),
        faults=tuple(tallies.values()),
        hops=sum(each.received for each in traffic.values()),
        wall_s=time.perf_counter() - begin_wall_s,
        cpu_s=time.process_time() - begin_cpu_s,
        peak_memory_mb=_peak_memory_mb(),
    )


def _until_us(scenario: Scenario, planned: list[Input]) -> int:
    """When the run ends at the latest."""
    if scenario.until_ms is not None:
        return round(scenario.until_ms * 1000)
    if scenario.settle_ms is not None:
        last_us = max((each.at_us for each in planned), default=0)
        return max([last_us, *fault_ends_us(scenario)]) + round(scenario.settle_ms * 1000)
    return sys.maxsize


def _ending(scenario: Scenario, engine: Engine) -> Ending:
    if not engine.pending:
        return "quiet"
    return "cut" if scenario.settle_ms is None else "settled"


def _journal(
    recorder: "Recorder | None", scenario: Scenario, ending: Ending, healed_us: int | None
) -> "pa.Table | None":
    if recorder is None:
        return None
    from treecast.journal.store import mark_hierarchy, mark_promises

    entry = protocol_named(scenario.protocol)
    table = recorder.finish(quiet=ending != "cut", relays=entry.relays, healed_us=healed_us)
    if (promises := entry.promises(scenario.settings)) != PROMISES:
        table = mark_promises(table, promises)
    return mark_hierarchy(table, _parents(scenario)) if entry.topics == "hierarchy" else table


def _parents(scenario: Scenario) -> dict[str, tuple[Topic, ...]]:
    """The super-topics of every topic that the run may speak of."""
    hierarchy = scenario.hierarchy
    named = [topic.name for topic in scenario.topics]
    named += [action.topic for action in scenario.actions if action.topic is not None]
    closed = {each for topic in named for each in (topic, *hierarchy.above(topic))}
    return {topic: hierarchy.parents(topic) for topic in sorted(closed)}


def _traffic(observer: Observer, engine: Engine) -> dict[str, Traffic]:
    """By kind: what was handed to the network, and what was handed to machines, copies included."""
    arrived = observer.arrived()
    sent, received = Counter(arrived), Counter(arrived)
    sent.update(message.kind for message in engine.in_flight())
    sent.update(observer.vanished())
    received.subtract(message.kind for message in engine.in_processing())
    received.subtract(observer.perished())
    return {kind: Traffic(sent[kind], received[kind]) for kind in sorted(sent) if sent[kind]}


def _queue_wait_ms(links: Sequence[Link]) -> float | None:
    queued = sum(link.queued for link in links)
    return sum(link.waited_us for link in links) / queued / 1000 if queued else None


def _recorder(scenario: Scenario, journal: Level) -> "Recorder | None":
    if journal == "counters":
        return None
    from treecast.journal.recorder import Recorder  # Arrow weighs more than many a run

    return Recorder(f"{scenario.name}/{scenario.seed}")


def _engine(scenario: Scenario, name: EngineName | None) -> Engine:
    flight_us = flight_us_min(scenario.network)
    acks_free = scenario.network.acks == "free"
    processing_us = scenario.processing_us
    queue_max = None if scenario.capacity is None else scenario.capacity.queue_max
    if name == "windowed" and not flight_us:
        raise ScenarioError(
            "the windowed engine needs a network whose shortest flight is above 0; "
            "raise low_us (or transmission_us, or delay_us over jitter_us), or take the event-order engine"
        )
    if name == "event-order" or not flight_us:
        ordered = FaultyEventOrderHost if scenario.faulty else EventOrderHost
        return EventOrderEngine(processing_us, acks_free=acks_free, host_type=ordered, queue_max=queue_max)
    windowed = FaultyWindowedHost if scenario.faulty else WindowedHost
    return WindowedEngine(
        flight_us, processing_us, acks_free=acks_free, host_type=windowed, queue_max=queue_max
    )


def _populate(
    engine: Engine,
    scenario: Scenario,
    links: Sequence[Link],
    observer: Observer,
    tallies: Mapping[str, Tally],
) -> list[Input]:
    """Make the nodes and plan what they and their applications do; return that."""
    subscribers = initial_subscribers(scenario)
    setup = Setup(
        tuple(range(scenario.nodes)), subscribers, scenario.settings, scenario.hierarchy, scenario.owners
    )
    make = protocol_named(scenario.protocol).make
    faults = Faults(scenario, tallies, publishing_nodes(scenario, subscribers))
    topics_of: dict[NodeId, list[Topic]] = {node: [] for node in setup.nodes}
    for topic, nodes in subscribers.items():
        for node in nodes:
            topics_of[node].append(topic)
    for node in setup.nodes:
        link = links[node]
        host = engine.add_host(node, scenario.seed, link, observer)
        if isinstance(host, FaultyHost):
            host.fate = Fate(link, partial(make, host, node, setup))
            host.fate.obstacles = faults.obstacles.get(node, ())
            host.fate.slowness = faults.slowness.get(node, ())
        host.machine = make(host, node, setup)
        if isinstance(host, FaultyHost) and node in faults.crashed:
            host.begin_crashed(topics_of[node], faults.crashed[node])
        else:
            host.start(topics_of[node])
    planned = inputs(scenario, subscribers, tallies)
    for each in planned:
        engine.hosts[each.node].plan(each)
    return planned


class _Reporter:
    """Tells the caller how far the run is."""

    def __init__(self, observer: Observer, callback: ProgressCallback | None) -> None:
        self.planned = 0
        self._observer = observer
        self._callback = callback
        self._due_s = 0.0

    def step(self, now_us: int) -> None:
        if self._callback is not None and time.monotonic() >= self._due_s:
            self.tell(now_us)

    def tell(self, now_us: int) -> None:
        if self._callback is not None:
            seen = self._observer
            self._callback(Progress(now_us, seen.hops, seen.published, seen.delivered, self.planned))
            self._due_s = time.monotonic() + PROGRESS_EVERY_S


@contextmanager
def _no_cyclic_garbage_collection() -> Iterator[None]:
    """Nothing in a run makes cycles, and looking for them among millions of messages takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
