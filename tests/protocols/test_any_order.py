"""VCube-PS and the single-root systems under messages that arrive in any order at all."""

import pytest
from any_order import CHAT, INITIAL, NODES, STEPS, Judge, run_steps
from chosen_order import ChosenOrder, MachineFactory
from hypothesis import given

from treecast.core import NodeId
from treecast.protocols.baselines.fixed_root import FixedRoot
from treecast.protocols.baselines.single_root import RootSettings
from treecast.protocols.baselines.srpt import BrokerSettings, SrptB, SrptS
from treecast.protocols.setup import NoSettings
from treecast.protocols.vcube.vcube_ps import VCubePS

SYSTEMS: dict[str, tuple[MachineFactory, object]] = {
    "VCube-PS": (VCubePS, NoSettings()),
    "SRPT-S": (SrptS, RootSettings()),
    "SRPT-B": (SrptB, BrokerSettings(brokers=2)),
    "fixed root": (FixedRoot, RootSettings()),
}


@pytest.mark.parametrize("system", SYSTEMS)
@given(nodes=NODES, initial=INITIAL, steps=STEPS)
def test_any_order_of_arrival_keeps_causal_order_and_loses_nothing(
    system: str, nodes: int, initial: set[NodeId], steps: list[tuple[int, int, int]]
) -> None:
    machine, settings = SYSTEMS[system]
    members = {node for node in initial if node < nodes}
    run_steps(ChosenOrder(machine, nodes, {CHAT: members}, settings), members, steps)


def test_the_judge_sees_an_event_that_overtakes_or_is_lost() -> None:
    network = ChosenOrder(VCubePS, 2, {CHAT: (0, 1)})
    judge = Judge(network, subscribed=[True, True])
    judge.act(0, 1)
    judge.act(0, 1)
    while network.ahead:
        judge.arrive(0)
    judge.check()
    network.delivered[1].reverse()
    with pytest.raises(AssertionError, match="overtook"):
        judge.check()
    network.delivered[1].clear()
    with pytest.raises(AssertionError, match="node 1 never delivered"):
        judge.check()
