"""What each deviation from the published VCube-PS is for: switch it off and count what breaks.

Runs the random scenarios of tests/systems with one deviation switched off at a time; the
figures stand in docs/protocols/vcube-ps.md.
"""

import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from treecast.checkers import check
from treecast.core import Event, NodeId, Topic
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.vcube.messages import Fence, Pub, Sub, Uns
from treecast.protocols.vcube.vcube_ps import TopicState, VCubePS
from treecast.sim import simulate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "systems"))
from random_scenarios import random_scenario

SEEDS = 1_500


class NoParking(VCubePS):
    """3: a joining node forwards by whatever view it has."""

    def _forward(self, sender: NodeId, message: Pub | Uns, state: TopicState) -> None:
        whole, state.whole = state.whole, True
        super()._forward(sender, message, state)
        state.whole = whole


class DeafAfterLeaving(VCubePS):
    """2: who has left does not record new subscribers."""

    def _on_sub(self, sender: NodeId, sub: Sub) -> None:
        state = self._topics.get(sub.topic)
        if state is None or state.operation.subscribed:
            super()._on_sub(sender, sub)
        else:
            self._forward_to_all(sender, sub)


class NeverStrict(VCubePS):
    """6: a joining node skips at once what it believes never to come."""

    def subscribe(self, topic: Topic) -> None:
        super().subscribe(topic)
        self._topics[topic].causal.become_settled()


class NoFence(VCubePS):
    """6: who has joined counts as settled without asking anybody."""

    def _fence_if_blocked(self, state: TopicState) -> None:
        if state.joined and state.causal.waiting:
            for event in state.causal.become_settled():
                self._deliver(event)


class FenceWithoutHold(VCubePS):
    """6: a fence is acknowledged while own broadcasts are under way."""

    def _on_fence(self, sender: NodeId, fence: Fence) -> None:
        self._forward_to_all(sender, fence)


class NoLamport(VCubePS):
    """7: the counter counts only the node's own operations."""

    def _deliver(self, event: Event) -> None:
        self._host.deliver(event)


VARIANTS: dict[str, Callable[..., VCubePS]] = {
    variant.__name__: variant
    for variant in (VCubePS, DeafAfterLeaving, NoParking, NeverStrict, NoFence, FenceWithoutHold, NoLamport)
}


def broken_rules(variant: str, seed: int) -> list[str]:
    """The rules that this seed's scenario breaks under the variant."""
    PROTOCOLS["variant"] = Entry(VARIANTS[variant])
    journal = simulate(replace(random_scenario(seed), protocol="variant")).journal
    return [verdict.name for verdict in check(journal).verdicts if not verdict.ok]


def measure(console: Console, seeds: int = SEEDS) -> None:
    table = Table(title=f"VCube-PS with one deviation switched off: scenarios of {seeds} that break a rule")
    for heading in ("variant", "switched off (docs/protocols/vcube-ps.md)", "breaks", "first seed"):
        table.add_column(heading)
    with ProcessPoolExecutor(max_workers=2) as pool:
        for name, variant in VARIANTS.items():
            console.print(f"{name} ...", style="dim")
            found = list(pool.map(broken_rules, [name] * seeds, range(seeds), chunksize=50))
            counts = Counter(rule for rules in found for rule in rules)
            first = next((str(seed) for seed, rules in enumerate(found) if rules), "")
            what = "nothing" if variant is VCubePS else str(variant.__doc__)
            table.add_row(
                name, what, ", ".join(f"{rule}: {n}" for rule, n in counts.items()) or "none", first
            )
    console.print(table)
