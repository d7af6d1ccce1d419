"""A run whose machines, and whose every hop, can be looked at: what no counter tells."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from treecast.core import Host, Machine, Message, NodeId
from treecast.protocols.registry import PROTOCOLS, protocol_named
from treecast.protocols.setup import Setup
from treecast.sim import Result, Scenario, simulate

Hop: TypeAlias = Callable[[NodeId, NodeId, Message], None]
"""Called with sender, receiver and message."""


class WatchedHost:
    """A node's host, which also tells of what the node sends."""

    def __init__(self, host: Host, node: NodeId, sent: Hop) -> None:
        self._host = host
        self._node = node
        self._sent = sent

    def send(self, to: NodeId, message: Message) -> None:
        self._sent(self._node, to, message)
        self._host.send(to, message)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


def run_with_machines(
    scenario: Scenario, *, sent: Hop | None = None, received: Hop | None = None, **how: Any
) -> tuple[Result, dict[NodeId, Any]]:
    """The run's result, and each node's machine of its last life."""
    machines: dict[NodeId, Machine] = {}
    entry = protocol_named(scenario.protocol)

    def make(host: Host, node: NodeId, setup: Setup) -> Machine:
        around = host if sent is None else WatchedHost(host, node, sent)
        machine = machines[node] = entry.make(around, node, setup)  # type: ignore[arg-type]
        if received is not None:
            receive, note = machine.receive, received

            def receive_noted(sender: NodeId, message: Message) -> None:
                note(sender, node, message)
                receive(sender, message)

            machine.receive = receive_noted  # type: ignore[method-assign]
        return machine

    PROTOCOLS[scenario.protocol] = replace(entry, make=make)
    try:
        return simulate(scenario, **how), machines
    finally:
        PROTOCOLS[scenario.protocol] = entry
