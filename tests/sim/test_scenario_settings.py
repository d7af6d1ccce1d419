"""What a protocol, faults and churn add to a scenario: read whole, or refused in one line that helps."""

from dataclasses import dataclass

import pytest
from test_scenario_file import TEXT, refusal

from treecast.core import ScenarioError
from treecast.core.keys import Count, conform
from treecast.protocols.registry import PROTOCOLS, Entry
from treecast.protocols.vcube.vcube_ps import VCubePS
from treecast.sim.scenario import Scenario
from treecast.sim.scenario_file import parse_scenario, toml_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Fanout:
    """Settings for a protocol of this test's."""

    children: Count = 3

    def __post_init__(self) -> None:
        conform(self)


@pytest.fixture
def fan(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(PROTOCOLS, "fan", Entry(VCubePS, Fanout))
    return 'name = "one"\nnodes = 4\nprotocol = "fan"\n'


def test_settings_are_of_the_protocols_own_class(fan: str) -> None:
    assert parse_scenario(fan, "fan").settings == Fanout()
    scenario = parse_scenario(f"{fan}[settings]\nchildren = 5\n", "fan")
    assert scenario.settings == Fanout(children=5)
    assert parse_scenario(toml_of(scenario), "again") == scenario


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            '[[fault]]\nkind = "los"\nshare = 1',
            '[[fault]] 1: unknown kind "los"; did you mean "loss"?',
        ),
        (
            '[[fault]]\nkind = "loss"\nshare = 1.5\nwindow_ms = [0, 1]',
            "[[fault]] 1: share = 1.5; give a share above 0 and at most 1",
        ),
        (
            '[[fault]]\nkind = "loss"\nshare = 1.0\nwindow_ms = [5, 5]',
            "[[fault]] 1: window_ms = [5, 5] has no length; let it end later",
        ),
        (
            '[[fault]]\nkind = "slow"\nnodes = [3, 16]\nlonger_us = 5\nwindow_ms = [0, 5]',
            "[[fault]] 1: nodes: node 16 is out of range; the nodes are 0 to 15",
        ),
        (
            '[[fault]]\nkind = "partition"\nside = 0\nwindow_ms = [0, 5]',
            "[[fault]] 1: side = 0 stands for nobody; give at least one node",
        ),
        (
            '[[churn]]\nkind = "sessions"\ntopic = "chad"\nsession_ms_mean = 5\nwindow_ms = [0, 5]',
            '[[churn]] 1: topic = "chad" is declared by no [[topic]]; did you mean "chat"?',
        ),
        (
            '[[churn]]\nkind = "sessions"\ntopic = "chat"\nsession_ms_mean = 1e-3\nwindow_ms = [0, 1e9]',
            "[[churn]] 1: about 4000000000000 changes would be planned; at most 10000000 are allowed",
        ),
        (
            '[[churn]]\nkind = "exchange"\ntopic = "chat"\nleavers = 5',
            '[[churn]] 1: leavers = 5; there are only 4 subscribers of "chat" to draw from',
        ),
        (
            '[[topic]]\nname = "full"\n[[churn]]\nkind = "exchange"\ntopic = "full"\nleavers = 5',
            '[[churn]] 1: all nodes are subscribed to "full", so nobody could join; '
            "let some, not all, of the nodes subscribe",
        ),
        (
            '[[topic]]\nname = "near"\nsubscribers = 14\n'
            '[[churn]]\nkind = "exchange"\ntopic = "near"\nleavers = 5',
            "[[churn]] 1: leavers = 5; only 2 nodes are not subscribed and could take their places; "
            "let fewer leave",
        ),
    ],
)
def test_faults_and_churn_that_cannot_be(table: str, message: str) -> None:
    assert refusal(f"{TEXT}\n{table}\n") == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("childs = 5", '[settings]: unknown key "childs"; did you mean "children"?'),
        ("children = 0", "[settings]: children = 0; give a count from 1 to 10000000"),
    ],
)
def test_settings_that_cannot_be(fan: str, settings: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse_scenario(f"{fan}[settings]\n{settings}\n", "fan")
    assert message in str(refusal.value)


def test_settings_of_another_protocol() -> None:
    with pytest.raises(ScenarioError, match="settings is a Fanout; the protocol 'vcube-ps' takes NoSettings"):
        Scenario(name="one", protocol="vcube-ps", nodes=4, settings=Fanout())


def test_who_never_falls_silent_has_to_be_told_when_to_end() -> None:
    endless = 'name = "x"\nprotocol = "vcube-pb"\nnodes = 2\n'
    with pytest.raises(ScenarioError, match=r"vcube-pb never falls silent.*give settle_ms.*until_ms"):
        parse_scenario(endless, "endless.toml")
    for end in ("settle_ms = 1000", "until_ms = 1000"):
        parse_scenario(endless + end, end)
