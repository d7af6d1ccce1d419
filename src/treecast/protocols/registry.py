"""The protocols by the names that scenarios use. A new protocol is one entry here.

A protocol's modules are imported when a scenario first names it: who runs one does not carry
the others about.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from treecast.core import Host, Machine, NodeId, ScenarioError
from treecast.protocols.setup import NoSettings, Setup

if TYPE_CHECKING:
    from treecast.protocols.camcast.settings import MembershipSettings

MachineFactory: TypeAlias = Callable[[Host, NodeId, Setup], Machine]


PROMISES = ("causal order", "completeness", "delivered was received")
"""What a protocol promises that says nothing else."""


def _all_promises(settings: object) -> tuple[str, ...]:
    return PROMISES


def _nothing(settings: object) -> tuple[str, ...]:
    return ()


def _always(settings: object) -> bool:
    return True


def _never(settings: object) -> bool:
    return False


def _is_static(settings: "MembershipSettings") -> bool:
    return settings.membership == "static"


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
    falls_silent: Callable[[Any], bool] = _always
    """By its settings: whether its nodes do nothing any more once nobody makes them.

    A scenario of one whose nodes go on for ever, testing or gossiping, has to say when it ends.
    """


def _vcube_ps() -> Entry:
    from treecast.protocols.vcube.vcube_ps import VCubePS

    return Entry(VCubePS)


def _vcube_pb() -> Entry:
    from treecast.protocols.vcube.settings import VCubePBSettings
    from treecast.protocols.vcube.vcube_pb import VCubePB

    return Entry(VCubePB, VCubePBSettings, falls_silent=_never)


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


def _camcast() -> Entry:
    from treecast.protocols.camcast.camcast import Camcast
    from treecast.protocols.camcast.settings import CamcastSettings

    def promises(settings: CamcastSettings) -> tuple[str, ...]:
        always = ("delivered was received", "no parasites")
        return ("completeness", *always) if settings.repairs else always

    def falls_silent(settings: CamcastSettings) -> bool:
        return _is_static(settings) and not settings.repairs

    return Entry(Camcast, CamcastSettings, topics="hierarchy", promises=promises, falls_silent=falls_silent)


def _gossip_broadcast() -> Entry:
    from treecast.protocols.baselines.gossip import GossipBroadcast
    from treecast.protocols.camcast.settings import MembershipSettings

    return Entry(GossipBroadcast, MembershipSettings, "anyone", "hierarchy", _nothing, _is_static)


def _gossip_multicast() -> Entry:
    from treecast.protocols.baselines.gossip import GossipMulticast
    from treecast.protocols.camcast.settings import MembershipSettings

    return Entry(
        GossipMulticast,
        MembershipSettings,
        topics="hierarchy",
        promises=lambda _: ("no parasites",),
        falls_silent=_is_static,
    )


def _gossip_hierarchical() -> Entry:
    from treecast.protocols.baselines.gossip import HierarchicalGossip, HierarchicalSettings

    return Entry(HierarchicalGossip, HierarchicalSettings, "anyone", "hierarchy", _nothing, _is_static)


def _pulsarcast() -> Entry:
    from treecast.protocols.pulsarcast.pulsarcast import Pulsarcast
    from treecast.protocols.pulsarcast.settings import PulsarcastSettings

    def promises(settings: object) -> tuple[str, ...]:
        return ("causal order", "completeness")  # a message may hold several events

    return Entry(Pulsarcast, PulsarcastSettings, relays="anyone", promises=promises, falls_silent=_never)


def _floodsub() -> Entry:
    from treecast.protocols.baselines.floodsub import Floodsub, FloodsubSettings

    return Entry(Floodsub, FloodsubSettings, promises=_nothing)


PROTOCOLS: dict[str, Entry | Callable[[], Entry]] = {
    "vcube-ps": _vcube_ps,
    "vcube-pb": _vcube_pb,
    "camcast": _camcast,
    "gossip-broadcast": _gossip_broadcast,
    "gossip-multicast": _gossip_multicast,
    "gossip-hierarchical": _gossip_hierarchical,
    "srpt-s": _srpt_s,
    "srpt-b": _srpt_b,
    "fixed-root": _fixed_root,
    "pulsarcast": _pulsarcast,
    "floodsub": _floodsub,
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
