"""The protocols by the names that scenarios use. A new protocol is one entry here.

A protocol's modules are imported when a scenario first names it: who runs one does not carry
the others about.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from treecast.core import Host, Machine, NodeId, ScenarioError
from treecast.protocols.setup import NoSettings, Setup

MachineFactory: TypeAlias = Callable[[Host, NodeId, Setup], Machine]


@dataclass(frozen=True, slots=True)
class Entry:
    """A protocol: what makes a node's machine, and the dataclass of its settings.

    The fields of `settings` are the keys of a scenario's `[settings]`; all have defaults,
    and their annotations say what they may hold (`core.keys`). `relays`: who may carry a
    topic's events, only those who are or were subscribed to it, or any node at all.
    `falls_silent`: once nobody does anything any more, nor do its nodes; a scenario of one
    that goes on for ever, testing or gossiping, has to say when it ends.
    """

    make: MachineFactory
    settings: type[Any] = NoSettings
    relays: Literal["subscribers", "anyone"] = "subscribers"
    falls_silent: bool = True


def _vcube_ps() -> Entry:
    from treecast.protocols.vcube.vcube_ps import VCubePS

    return Entry(VCubePS)


def _vcube_pb() -> Entry:
    from treecast.protocols.vcube.settings import VCubePBSettings
    from treecast.protocols.vcube.vcube_pb import VCubePB

    return Entry(VCubePB, VCubePBSettings, falls_silent=False)


def _srpt_s() -> Entry:
    from treecast.protocols.baselines.single_root import RootSettings
    from treecast.protocols.baselines.srpt import SrptS

    return Entry(SrptS, RootSettings, relays="anyone")


def _srpt_b() -> Entry:
    from treecast.protocols.baselines.srpt import BrokerSettings, SrptB

    return Entry(SrptB, BrokerSettings, relays="anyone")


def _fixed_root() -> Entry:
    from treecast.protocols.baselines.fixed_root import FixedRoot
    from treecast.protocols.baselines.single_root import RootSettings

    return Entry(FixedRoot, RootSettings, relays="anyone")


PROTOCOLS: dict[str, Entry | Callable[[], Entry]] = {
    "vcube-ps": _vcube_ps,
    "vcube-pb": _vcube_pb,
    "srpt-s": _srpt_s,
    "srpt-b": _srpt_b,
    "fixed-root": _fixed_root,
}


def protocol_named(name: str) -> Entry:
    """The protocol of that name; `ScenarioError` with the nearest name when there is none."""
    found = PROTOCOLS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, PROTOCOLS, n=1, cutoff=0.0)[0]
        raise ScenarioError(
            f'unknown protocol "{name}"; did you mean "{near}"? known: {", ".join(sorted(PROTOCOLS))}'
        )
    if not isinstance(found, Entry):
        found = PROTOCOLS[name] = found()
    return found
