"""Recorded workloads: the file that the project ships, the paper's if it is there, and files with faults."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from treecast.core import ScenarioError, Topic
from treecast.sim import Scenario, simulate
from treecast.sim.recorded import Recording, read_recording
from treecast.sim.scenario import Recorded, TopicSetup
from treecast.sim.scenario_file import parse_scenario, toml_of
from treecast.sim.workloads import initial_subscribers, inputs

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "examples" / "workloads" / "comments-small.jsonl"
COMMENTS = ROOT.parent / "shared" / "data" / "reddit-comments-25k.jsonl"


def ideal_deliveries(recording: Recording) -> int:
    events = Counter(topic for _, topic in recording.events)
    return sum(count * len(recording.subscribers[topic]) for topic, count in events.items())


def scenario(path: Path | str, **keys: Any) -> Scenario:
    workload = Recorded(path=str(path), every_ms=10, **keys.pop("workload", {}))
    return Scenario(
        name="recorded", protocol="floodsub", nodes=keys.pop("nodes", 20), workloads=(workload,), **keys
    )


@pytest.mark.skipif(not COMMENTS.exists(), reason="the comments that the paper used are not here")
def test_the_papers_comments_are_the_papers() -> None:
    recording = read_recording(str(COMMENTS))
    assert len(recording.owners) == 23
    assert recording.nodes_min == 100
    assert len(recording.events) == 17_611
    assert sum(map(len, recording.subscribers.values())) == 762
    assert ideal_deliveries(recording) == 1_734_851
    assert recording.owners[Topic("politics")] == 31


def test_the_small_file_is_what_the_generator_makes() -> None:
    made = subprocess.run(
        [sys.executable, "tools/make_comments.py", "20", "300"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == SMALL.read_text(encoding="utf-8")


def test_everybody_publishes_what_the_file_says_in_its_order() -> None:
    whole = scenario(SMALL)
    recording = read_recording(str(SMALL))
    planned = inputs(whole, initial_subscribers(whole))
    assert [(each.node, each.topic) for each in planned] == list(recording.events)
    assert [each.at_us for each in planned] == [turn * 10_000 for turn in range(300)]
    result = simulate(whole, journal="counters")
    assert result.events_published == 300
    assert result.events_delivered <= ideal_deliveries(recording)


def test_it_can_be_cut_short_and_begun_late() -> None:
    planned = inputs(
        whole := scenario(SMALL, workload={"first": 5, "begin_ms": 1000.0}), initial_subscribers(whole)
    )
    assert [each.at_us for each in planned] == [1_000_000 + turn * 10_000 for turn in range(5)]
    assert parse_scenario(toml_of(whole), "here") == whole


def test_its_topics_stand_nowhere_else_and_its_nodes_are_there() -> None:
    with pytest.raises(ScenarioError, match=r'has the topic "topic-03", which stands elsewhere too'):
        scenario(SMALL, topics=(TopicSetup(name=Topic("topic-03")),))
    with pytest.raises(ScenarioError, match="has users up to node-20; nodes = 19 is too few"):
        scenario(SMALL, nodes=19)
    with pytest.raises(ScenarioError, match=r"nowhere.jsonl: cannot be read .*; give the path"):
        scenario("nowhere.jsonl")


TOPIC = {"type": "topic", "node": "node-1", "name": "news", "author": "ann", "totalNumberEvents": 1}
USER = {
    "type": "user",
    "name": "ann",
    "node": "node-1",
    "events": [{"internalId": 0, "topic": "news"}],
    "subscriptions": {"news": True},
}


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["{"], r"line 1: not JSON: .*; give one record a line"),
        (["[]"], "line 1: .* is no record"),
        ([{"type": "tipic"}], 'line 1: type = "tipic"; give "topic" or "user"'),
        ([{**TOPIC, "name": "a b"}], "line 1: topic 'a b' has a blank"),
        ([{**TOPIC, "node": "node-0"}], 'line 1: node = "node-0"; give a node, as in "node-1"'),
        ([{**TOPIC, "node": 1}], 'line 1: node = 1; give a node, as in "node-1"'),
        ([TOPIC, TOPIC], 'line 2: the topic "news" has a record already'),
        ([USER], 'line 1: subscriptions: no record of the topic "news" before'),
        ([TOPIC, USER, USER], "line 3: node-1 has the user of line 2 already"),
        (
            [TOPIC, {**USER, "events": [{"topic": "news"}]}],
            'line 2: event 1: the key "internalId" is missing',
        ),
        (
            [TOPIC, {**USER, "events": [{"internalId": True, "topic": "news"}]}],
            "line 2: event 1: internalId = true",
        ),
        (
            [TOPIC, {**USER, "events": USER["events"] * 2}],
            "line 2: event 2: internalId = 0 is negative or taken",
        ),  # type: ignore[operator]
        ([TOPIC, {**USER, "subscriptions": {}}], 'line 2: event 1: topic = "news", to which the user is not'),
        (
            [TOPIC, {**USER, "subscriptions": {"news": 1}}],
            'line 2: subscriptions: "news" is 1; give true or false',
        ),
        ([TOPIC, {**USER, "events": []}], "no user publishes anything"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(lines: list[Any], complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "comments.jsonl"
    file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    with pytest.raises(ScenarioError, match=rf"comments.jsonl: {complaint}"):
        scenario(file)
