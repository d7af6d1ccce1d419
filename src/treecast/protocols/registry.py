"""The protocols by the names that scenarios use. A new protocol is one entry here."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from treecast.core import Host, Machine, NodeId, ScenarioError
from treecast.protocols.baselines.fixed_root import FixedRoot
from treecast.protocols.baselines.floodsub import Floodsub, FloodsubSettings
from treecast.protocols.baselines.single_root import RootSettings
from treecast.protocols.baselines.srpt import BrokerSettings, SrptB, SrptS
from treecast.protocols.pulsarcast.pulsarcast import Pulsarcast
from treecast.protocols.pulsarcast.settings import PulsarcastSettings
from treecast.protocols.setup import NoSettings, Setup
from treecast.protocols.vcube.settings import VCubePBSettings
from treecast.protocols.vcube.vcube_pb import VCubePB
from treecast.protocols.vcube.vcube_ps import VCubePS

MachineFactory: TypeAlias = Callable[[Host, NodeId, Setup], Machine]


PROMISES = ("causal order", "completeness")
"""What a protocol promises that says nothing else."""


def _no_promises(settings: object) -> tuple[str, ...]:
    return ()


def _all_promises(settings: object) -> tuple[str, ...]:
    return PROMISES


@dataclass(frozen=True, slots=True)
class Entry:
    """A protocol: what makes a node's machine, and the dataclass of its settings.

    The fields of `settings` are the keys of a scenario's `[settings]`; all have defaults,
    and their annotations say what they may hold (`core.keys`). `relays`: who may carry a
    topic's events, only those who are or were subscribed to it, or any node at all.
    """

    make: MachineFactory
    settings: type[Any] = NoSettings
    relays: Literal["subscribers", "anyone"] = "subscribers"
    topics: Literal["flat", "hierarchy"] = "flat"
    """Whether who subscribes to a topic receives the events of its sub-topics."""
    promises: Callable[[Any], tuple[str, ...]] = _all_promises
    """By its settings: which of the checkers' rules it means to keep that not all protocols do."""


PROTOCOLS: dict[str, Entry] = {
    "vcube-ps": Entry(VCubePS),
    "vcube-pb": Entry(VCubePB, VCubePBSettings),
    "srpt-s": Entry(SrptS, RootSettings, relays="anyone"),
    "srpt-b": Entry(SrptB, BrokerSettings, relays="anyone"),
    "fixed-root": Entry(FixedRoot, RootSettings, relays="anyone"),
    "pulsarcast": Entry(Pulsarcast, PulsarcastSettings, relays="anyone"),
    "floodsub": Entry(Floodsub, FloodsubSettings, promises=_no_promises),
}


def protocol_named(name: str) -> Entry:
    """The protocol of that name; `ScenarioError` with the nearest name when there is none."""
    try:
        return PROTOCOLS[name]
    except KeyError:
        near = difflib.get_close_matches(name, PROTOCOLS, n=1, cutoff=0.0)[0]
        raise ScenarioError(
            f'unknown protocol "{name}"; did you mean "{near}"? known: {", ".join(sorted(PROTOCOLS))}'
        ) from None
