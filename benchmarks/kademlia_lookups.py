"""Lookups in simulated networks: how many find what was stored, and in how many hops.

Every network stores and then looks up the given number of random keys, each from a node
drawn for it; in the second run of each, a fifth of the nodes is gone at once in between.
"""

from collections import Counter
from dataclasses import dataclass, field
from math import log2
from random import Random

from rich.console import Console
from rich.table import Table

from treecast.core import Host, Machine, Message, NodeId, TimerKey
from treecast.protocols.pulsarcast.cids import cid_of
from treecast.protocols.pulsarcast.dht_messages import Content, content_key
from treecast.protocols.pulsarcast.identity import simulated_identity
from treecast.protocols.pulsarcast.kademlia import Kademlia
from treecast.protocols.pulsarcast.lookup import Lookup
from treecast.protocols.pulsarcast.settings import SEEDS, DhtSettings
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.setup import Setup
from treecast.sim import Result, Scenario, simulate
from treecast.sim.scenario import Action, UniformNetwork

LOOKUPS = 10_000
JOINED_MS, STORED_MS, SOUGHT_MS, END_MS = 60_000.0, 90_000.0, 120_000.0, 150_000.0
"""All have joined; all is stored, and nodes crash; all is looked up; the end."""


@dataclass
class Plan:
    """Which node stores and which looks up each value, and what came of it."""

    storers: dict[NodeId, list[int]] = field(default_factory=dict)
    seekers: dict[NodeId, list[int]] = field(default_factory=dict)
    copies: Counter[int] = field(default_factory=Counter)
    found: int = 0
    hops: list[int] = field(default_factory=list)


def value_of(number: int) -> Content:
    return Content(b"value %d" % number)


def key_of_value(number: int) -> bytes:
    return content_key(cid_of(value_of(number).data))


class DhtNode(Machine):
    """A node that does nothing but its part in the DHT."""

    def __init__(self, host: Host, node: NodeId, setup: Setup, plan: Plan) -> None:
        assert isinstance(setup.settings, DhtSettings)
        self._host = host
        self._plan = plan
        self._node = node
        identity = simulated_identity(node)
        self.dht = Kademlia(host, node, identity, setup.settings, setup.nodes[:SEEDS])

    def start(self) -> None:
        self.dht.start()
        random = self._host.random
        for number in self._plan.storers.get(self._node, ()):
            at_ms = random.uniform(JOINED_MS, STORED_MS - 10_000)
            self._host.set_timer(("store", number), round(at_ms * 1000))
        for number in self._plan.seekers.get(self._node, ()):
            at_ms = random.uniform(STORED_MS, SOUGHT_MS)
            self._host.set_timer(("find", number), round(at_ms * 1000))

    def receive(self, sender: NodeId, message: Message) -> None:
        self.dht.receive(sender, message)

    def timer(self, key: TimerKey) -> None:
        match key:
            case ("store", int(number)):
                self.dht.store(
                    key_of_value(number),
                    value_of(number),
                    lambda kept: self._plan.copies.update({number: kept}),
                )
            case ("find", int(number)):
                self.dht.find_value(key_of_value(number), lambda lookup: self._note(number, lookup))
            case _:
                self.dht.timer(key)

    def _note(self, number: int, lookup: Lookup) -> None:
        self._plan.found += value_of(number) in lookup.values
        self._plan.hops.append(lookup.hops)


def lookups(
    nodes: int, gone: float = 0.0, count: int = LOOKUPS, settings: DhtSettings | None = None, seed: int = 1
) -> tuple[Plan, Result]:
    """Store and look up `count` values in a network of which that share crashes in between."""
    random = Random(f"lookups/{nodes}/{seed}")
    crashed = set(random.sample(range(SEEDS, nodes), round(gone * nodes)))
    alive = [node for node in range(nodes) if node not in crashed]
    plan = Plan()
    for number in range(count):
        plan.storers.setdefault(random.randrange(nodes), []).append(number)
        plan.seekers.setdefault(random.choice(alive), []).append(number)
    settings = settings or DhtSettings(join_spread_ms=JOINED_MS / 2, rpc_timeout_ms=1_000.0)
    PROTOCOLS["dht"] = Entry(
        lambda host, node, setup: DhtNode(host, node, setup, plan), DhtSettings, relays="anyone"
    )
    try:
        scenario = Scenario(
            name="lookups",
            protocol="dht",
            nodes=nodes,
            seed=seed,
            until_ms=END_MS,
            settings=settings,
            network=UniformNetwork(low_us=10_000, high_us=100_000, processing_us=0),
            actions=tuple(Action(at_ms=STORED_MS, node=node, do="crash") for node in sorted(crashed)),
        )
        return plan, simulate(scenario, journal="counters")
    finally:
        del PROTOCOLS["dht"]


def measure(console: Console) -> None:
    table = Table(title=f"Kademlia: {LOOKUPS:,} random keys stored, then looked up; k = 20, alpha = 3")
    for heading in ("nodes", "gone", "found", "mean hops", "most", "hops / log2 N", "messages", "CPU s"):
        table.add_column(heading, justify="right")
    for nodes in (100, 1_000, 10_000):
        for gone in (0.0, 0.2):
            plan, result = lookups(nodes, gone)
            mean = sum(plan.hops) / len(plan.hops)
            table.add_row(
                f"{nodes:,}",
                f"{gone:.0%}",
                f"{100 * plan.found / LOOKUPS:.2f} %",
                f"{mean:.2f}",
                str(max(plan.hops)),
                f"{mean / log2(nodes):.2f}",
                f"{sum(each.sent for each in result.messages.values()):,}",
                f"{result.cpu_s:.0f}",
            )
    console.print(table)
