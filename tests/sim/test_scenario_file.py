"""Scenarios in TOML: what is right is read whole, what is wrong is one line that helps."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecast.core import ScenarioError, Topic
from treecast.core.keys import fit
from treecast.sim.scenario import (
    Action,
    Burst,
    Churn,
    Duplication,
    Exchange,
    Fault,
    Loss,
    Network,
    Once,
    PacketNetwork,
    Partition,
    Periodic,
    Scenario,
    Sessions,
    Slow,
    Steady,
    TopicSetup,
    Turnover,
    UniformNetwork,
    Workload,
)
from treecast.sim.scenario_file import document_of, load_scenario, parse_scenario, scenario_of, toml_of
from treecast.sim.scenario_keys import Selection, selected_count

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.toml"))

TEXT = """
name = "late joiner"
protocol = "vcube-ps"
nodes = 16
seed = 7
until_ms = 60000

[network]
model = "packet"
processing_us = 1000
transmission_us = 1000
propagation_us = 100000
acks = "charged"

[[topic]]
name = "chat"
subscribers = 0.25

[[workload]]
kind = "once"
topic = "chat"
publishers = 1
window_ms = [0, 1000]

[[action]]
at_ms = 500
node = 3
do = "subscribe"
topic = "chat"
"""

times_ms = st.integers(0, 10**6).map(float) | st.floats(0, 1e9)
microseconds = st.integers(0, 10**9)
acks = st.sampled_from(["free", "charged"])
segments = st.text(st.characters(categories=["L", "N"], include_characters='-_"\\'), min_size=1, max_size=8)
names = st.lists(segments, min_size=1, max_size=3).map(lambda parts: Topic(".".join(parts)))


def windows() -> st.SearchStrategy[tuple[float, float]]:
    return st.tuples(times_ms, times_ms).map(lambda pair: (min(pair), max(pair)))


def selections(population: int, nodes: int, least: int) -> st.SearchStrategy[Selection]:
    several = st.lists(st.integers(0, nodes - 1), unique=True, min_size=least, max_size=nodes).map(tuple)
    if population < max(1, least):
        return several
    share = st.floats(0, 1, exclude_min=True)
    return st.just("all") | share | st.integers(least, population) | several


@st.composite
def networks(draw: st.DrawFn) -> Network:
    if draw(st.booleans()):
        first, second, third = (draw(microseconds) for _ in range(3))
        return PacketNetwork(
            processing_us=first, transmission_us=second, propagation_us=third, acks=draw(acks)
        )
    low, high = sorted([draw(microseconds), draw(microseconds)])
    return UniformNetwork(low_us=low, high_us=high, processing_us=draw(microseconds), acks=draw(acks))


@st.composite
def workloads(draw: st.DrawFn, topic: TopicSetup, nodes: int) -> Workload:
    population = selected_count(topic.subscribers, nodes)
    publishers = draw(selections(population, nodes, 1))
    window_ms, count = draw(windows()), draw(st.integers(1, 1000))
    match draw(st.sampled_from([Once, Burst, Periodic, Steady])):
        case kind if kind is Steady:
            spacing = draw(st.sampled_from(["even", "poisson"]))
            return Steady(
                topic=topic.name, every_ms=draw(st.floats(0.001, 1e6)), count=count, spacing=spacing
            )
        case kind if kind is Once:
            return Once(topic=topic.name, publishers=publishers, window_ms=window_ms)
        case kind if kind is Burst:
            return Burst(topic=topic.name, publishers=publishers, window_ms=window_ms, count=count)
    every_ms = draw(st.floats(0.001, 1e6))
    return Periodic(
        topic=topic.name, publishers=publishers, window_ms=window_ms, count=count, every_ms=every_ms
    )


@st.composite
def faults(draw: st.DrawFn, nodes: int) -> Fault:
    window_ms = draw(windows().filter(lambda window: window[0] < window[1]))
    share, some = draw(st.floats(0, 1, exclude_min=True)), selections(nodes, nodes, 1)
    match draw(st.sampled_from([Loss, Duplication, Partition, Slow])):
        case kind if kind is Loss:
            return Loss(share=share, window_ms=window_ms, senders=draw(some), receivers=draw(some))
        case kind if kind is Duplication:
            return Duplication(share=share, window_ms=window_ms, later_us_max=draw(st.integers(1, 10**9)))
        case kind if kind is Partition:
            blocked = draw(st.sampled_from(["both", "out", "in"]))
            return Partition(side=draw(some), window_ms=window_ms, blocked=blocked)
    return Slow(nodes=draw(some), longer_us=draw(st.integers(1, 10**9)), window_ms=window_ms)


@st.composite
def churns(draw: st.DrawFn, topic: TopicSetup, nodes: int) -> Churn:
    begin_ms = draw(st.floats(0, 1e6))
    window_ms = (begin_ms, begin_ms + draw(st.floats(1, 1e6)))
    turns_ms, share = draw(st.floats(1e4, 1e9)), draw(st.floats(0, 1, exclude_min=True))
    match draw(st.sampled_from([Sessions, Turnover, Exchange])):
        case kind if kind is Sessions:
            return Sessions(topic=topic.name, session_ms_mean=turns_ms, window_ms=window_ms)
        case kind if kind is Turnover:
            stay = draw(st.booleans())
            return Turnover(
                topic=topic.name,
                share_max=share,
                every_ms=turns_ms,
                window_ms=window_ms,
                publishers_stay=stay,
            )
    return Exchange(topic=topic.name, leavers=1, window_ms=window_ms)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    nodes = draw(st.integers(2, 64))
    declared = [
        TopicSetup(name=name, subscribers=draw(selections(nodes, nodes, 0)))
        for name in draw(st.lists(names, unique=True, max_size=4))
    ]
    loads = [draw(workloads(topic, nodes)) for topic in declared if draw(st.booleans())]
    joined = draw(st.lists(names, max_size=2))
    known = [topic.name for topic in declared] + joined
    actions = [
        Action(at_ms=draw(times_ms), node=draw(st.integers(0, nodes - 1)), do="subscribe", topic=topic)
        for topic in joined
    ]
    if known:
        does = st.sampled_from(["subscribe", "unsubscribe", "publish"])
        actions += [
            Action(at_ms=at_ms, node=node, do=draw(does), topic=draw(st.sampled_from(known)))
            for at_ms, node in draw(st.lists(st.tuples(times_ms, st.integers(0, nodes - 1)), max_size=3))
        ]
    return Scenario(
        name=draw(segments),
        protocol="vcube-ps",
        nodes=nodes,
        seed=draw(st.integers(0, 2**63 - 1)),
        until_ms=draw(st.none() | st.floats(0.001, 1e9)),
        network=draw(networks()),
        topics=tuple(declared),
        workloads=tuple(loads),
        actions=tuple(actions),
        churns=tuple(
            draw(churns(topic, nodes))
            for topic in declared
            if 0 < selected_count(topic.subscribers, nodes) < nodes and draw(st.booleans())
        ),
        faults=tuple(draw(st.lists(faults(nodes), max_size=3))),
    )


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "here.toml")
    message = str(caught.value)
    assert message.startswith("here.toml: ")
    assert message.isprintable()
    return message.removeprefix("here.toml: ")


@given(scenarios())
def test_a_scenario_survives_the_way_to_toml_and_back(scenario: Scenario) -> None:
    assert parse_scenario(toml_of(scenario), "here.toml") == scenario
    assert scenario_of(document_of(scenario), "here.json") == scenario


def test_the_keys_are_read_into_their_fields() -> None:
    assert parse_scenario(TEXT, "here.toml") == Scenario(
        name="late joiner",
        protocol="vcube-ps",
        nodes=16,
        seed=7,
        until_ms=60_000.0,
        network=PacketNetwork(
            processing_us=1000, transmission_us=1000, propagation_us=100_000, acks="charged"
        ),
        topics=(TopicSetup(name=Topic("chat"), subscribers=0.25),),
        workloads=(Once(topic=Topic("chat"), publishers=1, window_ms=(0.0, 1000.0)),),
        actions=(Action(at_ms=500.0, node=3, do="subscribe", topic=Topic("chat")),),
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_loads_and_says_what_it_shows(path: Path) -> None:
    load_scenario(path)
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "subscribers =",
            "subscriber =",
            '[[topic]] 1: unknown key "subscriber"; did you mean "subscribers"?',
        ),
        ("nodes =", "node =", 'unknown key "node"; did you mean "nodes"?'),
        ("[[topic]]", "[[topics]]", 'unknown key "topics"; did you mean "topic"?'),
        ("[[topic]]", "[topic]", "topic is not an array of tables; write [[topic]] on a line of its own"),
        ("[network]", "[[network]]", "network is not a table; write [network] on a line of its own"),
        ('model = "packet"', 'model = "paket"', '[network]: unknown model "paket"; did you mean "packet"?'),
        ('model = "packet"', "model = 1", '[network]: unknown model 1; there is "packet", "uniform"'),
        ('model = "packet"', "", '[network]: the key "model" is missing; there is "packet", "uniform"'),
        (
            'model = "packet"',
            'model = "uniform"',
            '[network]: unknown key "transmission_us"; there is "model", "low_us",',
        ),
        ('kind = "once"', 'kind = "one"', '[[workload]] 1: unknown kind "one"; did you mean "once"?'),
        (
            'kind = "once"',
            'kind = "burst"',
            '[[workload]] 1: the key "count" is missing; give a count from 1',
        ),
        ('do = "subscribe"', 'do = "subscibe"', '[[action]] 1: do = "subscibe"; did you mean "subscribe"?'),
        ('acks = "charged"', "acks = true", '[network]: acks = true; give "free" or "charged"'),
        ("nodes = 16", "", 'the key "nodes" is missing; give a number of nodes from 2 to 65536'),
        ("nodes = 16", "nodes = 1", "nodes = 1; give a number of nodes from 2 to 65536"),
        ("nodes = 16", "nodes = 65537", "nodes = 65537; give a number of nodes from 2 to 65536"),
        ("nodes = 16", "nodes = true", "nodes = true; give a number of nodes from 2 to 65536"),
        ("nodes = 16", "nodes = 16.0", "nodes = 16.0; give a number of nodes from 2 to 65536"),
        ("nodes = 16", 'nodes = "16"', 'nodes = "16"; give a number of nodes from 2 to 65536'),
        ("seed = 7", "seed = -7", "seed = -7; give a whole number from 0 to"),
        ("until_ms = 60000", "until_ms = 0", "until_ms = 0; give milliseconds above 0"),
        ("at_ms = 500", "at_ms = -500", "[[action]] 1: at_ms = -500; give milliseconds from 0 to"),
        ("at_ms = 500", "at_ms = nan", "[[action]] 1: at_ms = NaN; give milliseconds from 0 to"),
        ("at_ms = 500", "at_ms = inf", "[[action]] 1: at_ms = Infinity; give milliseconds from 0 to"),
        (
            "propagation_us = 100000",
            "propagation_us = -1",
            "[network]: propagation_us = -1; give whole microseconds from 0 to",
        ),
        ("node = 3", "node = 16", "[[action]] 1: node: node 16 is out of range; the nodes are 0 to 15"),
        ("node = 3", "node = -1", "[[action]] 1: node: node -1 is out of range; the nodes are 0 to 15"),
        ("= 0.25", "= [1, 99]", "[[topic]] 1: subscribers: node 99 is out of range; the nodes are 0 to 15"),
        ("= 0.25", "= [4, 4]", "[[topic]] 1: subscribers: node 4 is listed twice; list each node once"),
        ("= 0.25", "= 0.0", '[[topic]] 1: subscribers = 0.0; give "all" or a share above 0 and at most 1 or'),
        ("= 0.25", "= 1.5", '[[topic]] 1: subscribers = 1.5; give "all" or a share above 0 and at most 1 or'),
        ("= 0.25", "= 17", "[[topic]] 1: subscribers = 17; there are only 16 nodes to draw from"),
        (
            "publishers = 1",
            "publishers = 5",
            '[[workload]] 1: publishers = 5; there are only 4 subscribers of "chat" to draw from',
        ),
        (
            "publishers = 1",
            "publishers = []",
            "[[workload]] 1: publishers = [] stands for nobody; give at least one node",
        ),
        (
            "[0, 1000]",
            "[1000, 0]",
            "[[workload]] 1: window_ms = [1000.0, 0.0] ends before it begins; write [0.0, 1000.0]",
        ),
        ("[0, 1000]", "[0]", "[[workload]] 1: window_ms = [0]; give [milliseconds from 0 to"),
        (
            'name = "chat"',
            'name = "chat..room"',
            "[[topic]] 1: name: topic 'chat..room' has an empty segment (number 2); write 'chat.room'",
        ),
        (
            'name = "chat"',
            'name = "chats"',
            '[[workload]] 1: topic = "chat" is declared by no [[topic]]; did you mean "chats"?',
        ),
        (
            "[[action]]",
            '[[topic]]\nname = "chat"\n[[action]]',
            '[[topic]] 2: name = "chat" is taken by [[topic]] 1; declare it once',
        ),
        (
            'do = "subscribe"\ntopic = "chat"',
            'do = "publish"\ntopic = "cat"',
            '[[action]] 1: topic = "cat" is declared by no [[topic]] and no action subscribes to it; did',
        ),
        ("seed = 7", "seed 7", "not TOML: "),
        ('"vcube-ps"', '"vcube"', 'unknown protocol "vcube"; did you mean "vcube-ps"?'),
        ('name = "late joiner"', 'name = "late\\njoiner"', 'name = "late\\njoiner"; give a name on one line'),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(right: str, wrong: str, message: str) -> None:
    assert right in TEXT
    assert refusal(TEXT.replace(right, wrong, 1)).startswith(message)


def places(document: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every plain key of a document, with the table that it stands in."""
    found = []
    for key, value in document.items():
        tables = [value] if isinstance(value, dict) else value
        if isinstance(tables, list):
            found += [(table, inner) for table in tables for inner in table]
        else:
            found.append((document, key))
    return found


@given(st.data())
def test_no_value_under_any_key_is_more_than_a_scenario_error(data: st.DataObject) -> None:
    document = tomllib.loads(TEXT)
    table, key = data.draw(st.sampled_from(places(document)))
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    value = data.draw(st.recursive(leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
    table[key] = value
    try:
        scenario = scenario_of(document, "here.toml")
    except ScenarioError as error:
        message = str(error)
        assert message.startswith("here.toml: ")
        # A topic under another name is found out where the old one is asked for.
        assert key in message or (key == "name" and "is declared by no [[topic]]" in message)
        assert "; " in message
        assert len(message.splitlines()) == 1
    else:
        assert scenario_of(document_of(scenario), "again") == scenario


@given(st.data())
def test_a_key_misspelt_by_one_letter_is_recognised(data: st.DataObject) -> None:
    document = tomllib.loads(TEXT)
    table, key = data.draw(st.sampled_from([place for place in places(document) if len(place[1]) > 3]))
    cut = data.draw(st.integers(0, len(key) - 1))
    misspelt = key[:cut] + key[cut + 1 :]
    table[misspelt] = table[key]
    with pytest.raises(ScenarioError) as caught:
        scenario_of(document, "here.toml")
    assert str(caught.value).endswith(f'unknown key "{misspelt}"; did you mean "{key}"?')


@given(st.data())
def test_true_passes_for_no_number(data: st.DataObject) -> None:
    document = tomllib.loads(TEXT)
    table, key = data.draw(st.sampled_from(places(document)))
    table[key] = data.draw(st.booleans())
    with pytest.raises(ScenarioError):
        scenario_of(document, "here.toml")


@given(st.text())
def test_any_text_is_a_scenario_or_one_line(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "here.toml")
    assert len(str(caught.value).splitlines()) == 1


def test_deep_nesting_and_long_numbers_are_refused_in_one_line() -> None:
    assert "not TOML" in refusal("name = " + "[" * 100_000)
    assert "not TOML" in refusal("seed = " + "9" * 10_000)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "caf\xe9"')
    for path, reason in (
        (latin, "is not UTF-8"),
        (tmp_path, "cannot be read"),
        (tmp_path / "no", "cannot be read"),
    ):
        with pytest.raises(ScenarioError, match=reason) as caught:
            load_scenario(path)
        assert str(caught.value).startswith(str(path))


@given(st.integers(1, 64))
def test_one_point_nought_is_the_share_of_all_and_one_the_count_of_one(population: int) -> None:
    assert selected_count(fit(Selection, 1.0), population) == population
    assert selected_count(fit(Selection, 1), population) == 1


def test_a_scenario_built_in_python_is_checked_as_well() -> None:
    with pytest.raises(ScenarioError, match="out of range"):
        Scenario(
            name="one", protocol="vcube-ps", nodes=4, topics=(TopicSetup(name=Topic("a"), subscribers=(4,)),)
        )
