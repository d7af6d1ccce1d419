"""Pulsarcast's executions and Floodsub's at the paper's full scale (section 5), beside what it measured.

100 nodes, 17,611 events, 762 subscriptions. The file is what `PULSARCAST_COMMENTS` names, or the
one beside the repository; without either a synthetic one of the same size is made. Events are
injected at 1000 a second, more than a node can take (`CAPACITY`): Pulsarcast's publishers wait
for their window, Floodsub drops.

Bytes are those of the messages in MessagePack, ids of nodes counted as 38 bytes where a list
of them travels; without transport. Injected are what applications asked to publish; published
what stands in the DHT.
"""

import os
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from treecast.core import Host, Machine, Message, NodeId
from treecast.protocols.baselines.floodsub import FloodsubSettings
from treecast.protocols.pulsarcast.dht_messages import Nodes, Values
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.registry import PROTOCOLS, Entry, protocol_named
from treecast.protocols.setup import Setup
from treecast.sim import Result, Scenario, simulate
from treecast.sim.host import QUEUE_FULL
from treecast.sim.scenario import Capacity, LatencyNetwork, Network, Recorded, UniformNetwork

ROOT = Path(__file__).parents[1]
COMMENTS = ROOT.parent / "shared" / "data" / "reddit-comments-25k.jsonl"
CAPACITY = Capacity(messages_per_s=300, queue_max=1_000)
PAYLOAD = bytes(200)
"""About a comment."""
PEER_BYTES = 38
CLUSTER = UniformNetwork(low_us=5_000, high_us=20_000, processing_us=0)
WIDE_AREA = LatencyNetwork(delay_us=500_000, jitter_us=300_000)


class Execution(NamedTuple):
    """One of the paper's, its settings here, and its coverage of injected and published events there."""

    name: str
    protocol: str
    network: Network
    settings: Any
    settle_ms: float | None
    paper: str


EXECUTIONS = (
    Execution("pulsarcast", "pulsarcast", CLUSTER, PulsarcastSettings(), 300_000, "99 % / 99 %"),
    Execution("+ latency", "pulsarcast", WIDE_AREA, PulsarcastSettings(), 1_200_000, "51 % / 86 %"),
    Execution(
        "ordered", "pulsarcast", CLUSTER, PulsarcastSettings(publishers="author"), 2_400_000, "37 % / 80 %"
    ),
    Execution(
        "ordered + latency",
        "pulsarcast",
        WIDE_AREA,
        PulsarcastSettings(publishers="author", window_max=64, beat_ms=30_000, request_timeout_ms=120_000),
        4_000_000,
        "32 % / 62 %",
    ),
    Execution("floodsub", "floodsub", CLUSTER, FloodsubSettings(), None, "41 %"),
    Execution("floodsub + latency", "floodsub", WIDE_AREA, FloodsubSettings(), None, "31 %"),
)


class Counting:
    """A host that counts the bytes that its node sends."""

    def __init__(self, host: Host, sent: Counter[str]) -> None:
        self._host = host
        self._sent = sent
        self._last: tuple[Message | None, int] = (None, 0)

    def send(self, to: NodeId, message: Message) -> None:
        last, size = self._last
        if last is not message:  # one message goes to many
            size = _size(message)
            self._last = message, size
        self._sent[message.kind] += size
        self._host.send(to, message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


def _size(message: Message) -> int:
    size = len(msgspec.msgpack.encode(message))
    return size + PEER_BYTES * len(message.nodes) if isinstance(message, Nodes | Values) else size


def workload(every_ms: float = 1.0, first: int | None = None, path: str | None = None) -> Recorded:
    """All of the comments, injected from the time on when all have joined."""
    return Recorded(path=path or comments(), every_ms=every_ms, begin_ms=60_000, first=first)


@cache
def comments() -> str:
    """The path of the comments; a synthetic file, if they are not here."""
    given = os.environ.get("PULSARCAST_COMMENTS")
    if given or COMMENTS.exists():
        return given or str(COMMENTS)
    sys.path.append(str(ROOT / "tools"))
    make_comments = __import__("make_comments")
    file = Path(tempfile.mkdtemp()) / "comments.jsonl"
    encode = msgspec.json.encode
    file.write_bytes(b"\n".join(encode(record) for record in make_comments.records(100, 17_611, 0)))
    return str(file)


def execute(execution: Execution, recorded: Recorded, seed: int = 1) -> tuple[Result, Counter[str]]:
    """Run it; also the bytes sent, by kind of message."""
    sent: Counter[str] = Counter()
    entry = protocol_named(execution.protocol)

    def make(host: Host, node: NodeId, setup: Setup) -> Machine:
        machine = entry.make(Counting(host, sent), node, setup)  # type: ignore[arg-type]
        publish = machine.publish
        machine.publish = lambda topic, _: publish(topic, PAYLOAD)  # type: ignore[method-assign]
        return machine

    PROTOCOLS["counted"] = Entry(make, entry.settings, relays=entry.relays)
    try:
        scenario = Scenario(
            name=execution.name,
            protocol="counted",
            nodes=max(100, recorded.recording.nodes_min),
            seed=seed,
            settle_ms=execution.settle_ms,
            network=execution.network,
            capacity=CAPACITY,
            settings=execution.settings,
            workloads=(recorded,),
        )
        return simulate(scenario, journal="counters"), sent
    finally:
        del PROTOCOLS["counted"]


def ideal_deliveries(recorded: Recorded) -> int:
    subscribers = recorded.recording.subscribers
    return sum(len(subscribers[topic]) for _, topic in recorded.events)


def measure(console: Console) -> None:
    recorded = workload()
    ideal = ideal_deliveries(recorded)
    table = Table(title=f"{len(recorded.events):,} events, {ideal:,} ideal deliveries: {recorded.path}")
    for heading in (
        "execution", "injected", "paper", "published", "latency ms", "messages", "events sent",
        "duplicates", "dropped", "MiB sent", "simulated s", "CPU s",
    ):  # fmt: skip
        table.add_column(heading, justify="left" if heading == "execution" else "right")
    for execution in EXECUTIONS:
        result, sent = execute(execution, recorded)
        pubs = result.messages["PUB"]
        delivered = result.events_delivered
        duplicates = pubs.received - (delivered - result.events_published)
        if execution.protocol == "pulsarcast":  # where forwarders, too, are sent events
            duplicates = result.counts.get("event: duplicate", 0)
        latency = result.delivery_latency_ms.mean
        table.add_row(
            execution.name,
            f"{delivered / ideal:.2%}",
            execution.paper,
            f"{result.counts.get('accepted', result.events_published):,}",
            "-" if latency is None else f"{latency:,.0f}",
            f"{sum(each.sent for each in result.messages.values()):,}",
            f"{pubs.sent:,}",
            f"{duplicates:,}",
            f"{result.counts.get(QUEUE_FULL, 0):,}",
            f"{sent.total() / 2**20:,.0f}",
            f"{result.simulated_ms / 1000:,.0f}",
            f"{result.cpu_s:.0f}",
        )
    console = Console(file=console.file, width=160)
    console.print(table)
    console.print(
        "The paper's: Floodsub sent 6552 MiB, three times what Pulsarcast did; "
        "memory of 31.9 GiB over 100 nodes; 85 min, with latency 13 h."
    )
