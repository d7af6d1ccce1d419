"""The protocols by the names that scenarios use. A new protocol is one entry here."""

import difflib
from collections.abc import Callable
from typing import TypeAlias

from treecast.core import Host, Machine, NodeId, ScenarioError
from treecast.protocols.setup import Setup
from treecast.protocols.vcube.vcube_ps import VCubePS

MachineFactory: TypeAlias = Callable[[Host, NodeId, Setup], Machine]

PROTOCOLS: dict[str, MachineFactory] = {
    "vcube-ps": VCubePS,
}


def protocol_named(name: str) -> MachineFactory:
    """The protocol of that name; `ScenarioError` with the nearest name when there is none."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        near = difflib.get_close_matches(name, PROTOCOLS, n=1, cutoff=0.0)[0]
        raise ScenarioError(
            f'unknown protocol "{name}"; did you mean "{near}"? known: {", ".join(sorted(PROTOCOLS))}'
        ) from None
