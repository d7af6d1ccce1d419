"""A run whose machines can be looked at afterwards: what they know, which no journal tells."""

from dataclasses import replace
from typing import Any

from treecast.core import Host, Machine, NodeId
from treecast.protocols.registry import PROTOCOLS, protocol_named
from treecast.protocols.setup import Setup
from treecast.sim import Result, Scenario, simulate


def run_with_machines(scenario: Scenario, **how: Any) -> tuple[Result, dict[NodeId, Machine]]:
    """The run's result, and each node's machine of its last life."""
    machines: dict[NodeId, Machine] = {}
    entry = protocol_named(scenario.protocol)

    def make(host: Host, node: NodeId, setup: Setup) -> Machine:
        machine = machines[node] = entry.make(host, node, setup)
        return machine

    PROTOCOLS[scenario.protocol] = replace(entry, make=make)
    try:
        return simulate(scenario, **how), machines
    finally:
        PROTOCOLS[scenario.protocol] = entry
