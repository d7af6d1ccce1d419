"""What VCube-PB's fault tolerance costs when nothing fails, beside VCube-PS on the same scenario.

Bytes are those of the messages in MessagePack, without transport; payloads of 100 bytes.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from treecast.core import Host, Machine, Message, NodeId, Topic
from treecast.protocols.registry import PROTOCOLS, Entry, protocol_named
from treecast.protocols.setup import Setup
from treecast.sim import Scenario, simulate
from treecast.sim.scenario import Once, TopicSetup, UniformNetwork

TOPIC = Topic("chat.room")
NODES = 256
SECONDS = 60
PAYLOAD = bytes(100)
UPKEEP = ("TEST", "ANSWER")
"""What is sent whether or not anybody publishes."""


class CountingHost:
    """A node's host, which also counts the bytes of what the node sends."""

    def __init__(self, host: Host, sent: Counter[str]) -> None:
        self._host = host
        self._sent = sent

    def send(self, to: NodeId, message: Message) -> None:
        self._sent[message.kind] += len(msgspec.msgpack.encode(message))
        self._host.send(to, message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


def traffic(protocol: str, scenario: Scenario) -> tuple[Counter[str], Counter[str]]:
    """Messages and bytes by kind."""
    sent: Counter[str] = Counter()
    entry = protocol_named(protocol)

    def make(host: Host, node: NodeId, setup: Setup) -> Machine:
        machine = entry.make(CountingHost(host, sent), node, setup)  # type: ignore[arg-type]
        publish = machine.publish
        machine.publish = lambda topic, _: publish(topic, PAYLOAD)  # type: ignore[method-assign]
        return machine

    PROTOCOLS["counted"] = Entry(make, entry.settings)
    try:
        result = simulate(replace(scenario, protocol="counted", settings=None), journal="counters")
    finally:
        del PROTOCOLS["counted"]
    return Counter({kind: each.sent for kind, each in result.messages.items()}), sent


def measure(console: Console) -> None:
    table = Table(title=f"Cost of fault tolerance: {NODES} nodes, all subscribe, {SECONDS} s, nothing fails")
    for heading in (
        "publications",
        "protocol",
        "messages",
        "bytes",
        "of these tests",
        "bytes an event",
        "over VCube-PS",
    ):
        table.add_column(heading, justify="left" if heading == "protocol" else "right")
    for publishers in (0, 16, 64, 256):
        scenario = Scenario(
            name="cost",
            protocol="vcube-ps",
            nodes=NODES,
            seed=1,
            until_ms=SECONDS * 1000,
            network=UniformNetwork(),
            topics=(TopicSetup(name=TOPIC),),
            workloads=(Once(topic=TOPIC, publishers=publishers, window_ms=(0.0, 1000.0)),)
            if publishers
            else (),
        )
        plain = 0
        for protocol in ("vcube-ps", "vcube-pb"):
            messages, sizes = traffic(protocol, scenario)
            upkeep = sum(sizes[kind] for kind in UPKEEP)
            spent = sizes.total() - upkeep
            plain = plain or spent
            table.add_row(
                str(publishers),
                protocol,
                f"{messages.total():,}",
                f"{sizes.total():,}",
                f"{upkeep:,}",
                f"{spent / publishers:,.0f}" if publishers else "",
                f"{100 * (spent / plain - 1):+.1f} %" if publishers else "",
            )
    console.print(table)
