"""CAMCAST by scripted calls: what one process sends and delivers, section by section."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording_host import Delivered, Joined, RecordingHost, Sent

from treecast.core import (
    AlreadySubscribedError,
    Event,
    EventId,
    Hierarchy,
    NodeId,
    NotSubscribedError,
    PeerError,
    Topic,
    UsageError,
)
from treecast.protocols.camcast.camcast import Camcast
from treecast.protocols.camcast.membership import Timer, fan_out
from treecast.protocols.camcast.messages import (
    Alive,
    AnsContact,
    Beat,
    Check,
    Digest,
    Gone,
    Links,
    NewProcess,
    Pub,
    Repair,
    ReqContact,
    Want,
)
from treecast.protocols.camcast.repair import PASSED_MAX
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.protocols.setup import Setup

A, D, G, OTHER = Topic("a"), Topic("a.d"), Topic("a.d.g"), Topic("x")
ME = 0
STATIC: dict[str, Any] = {"membership": "static"}
CERTAIN: dict[str, Any] = {**STATIC, "psel": 1.0, "a": 3}
"""Every process passes every event up, to its whole super-topic table."""


def machine(
    subscribers: Mapping[Topic, tuple[NodeId, ...]],
    further: Mapping[Topic, tuple[Topic, ...]] | None = None,
    nodes: int = 200,
    seed: int = 1,
    **settings: Any,
) -> tuple[Camcast, RecordingHost]:
    host = RecordingHost(seed)
    setup = Setup(range(nodes), subscribers, CamcastSettings(**settings), Hierarchy(further or {}))
    found = Camcast(host, ME, setup)
    found.start()
    host.take()
    return found, host


def sent(host: RecordingHost, kind: type) -> list[Sent]:
    return [deed for deed in host.take() if isinstance(deed, Sent) and type(deed.message) is kind]


def event(topic: Topic, publisher: int = 50, sequence: int = 1) -> Event:
    return Event(EventId(publisher, sequence), topic, frozenset(), b"")


HUNDRED = tuple(range(100))
ABOVE = tuple(range(100, 110))


def test_an_event_goes_to_fan_out_others_and_to_the_super_topic_table() -> None:
    """Figure 8: RAND() >= p reads "with probability p"; the targets are distinct."""
    process, host = machine({D: HUNDRED, A: ABOVE}, **CERTAIN)
    process.publish(D, b"")
    pubs = sent(host, Pub)
    inside = [each.to for each in pubs if each.message.community == D]  # type: ignore[attr-defined]
    above = [each.to for each in pubs if each.message.community == A]  # type: ignore[attr-defined]
    assert len(inside) == len(set(inside)) == 4 + 5 == fan_out(100, 5)
    assert set(inside) <= set(HUNDRED) - {ME}
    assert len(above) == len(set(above)) == 3
    assert set(above) <= set(ABOVE)


def test_who_receives_an_event_first_forwards_and_delivers_it_once() -> None:
    process, host = machine({D: HUNDRED, A: ABOVE}, **CERTAIN)
    pub = Pub(event(D), D)
    process.receive(50, pub)
    deeds = host.take()
    assert deeds.count(Delivered(pub.event)) == 1
    assert len(deeds) == 1 + 9 + 3
    process.receive(51, pub)
    assert host.take() == []


def test_links_are_drawn_with_psel_and_entries_with_pa() -> None:
    """g / N = 0.05 and a / z = 1/3: five upward messages for a hundred processes."""
    process, host = machine({D: HUNDRED, A: ABOVE}, **STATIC)
    upward = [0] * 4
    for sequence in range(1, 20_001):
        process.receive(50, Pub(event(D, sequence=sequence), D))
        above = [each for each in sent(host, Pub) if each.to >= 100]
        upward[len(above)] += 1
    assert sum(upward[1:]) == pytest.approx(20_000 * 0.05 * (1 - (2 / 3) ** 3), rel=0.1)
    assert sum(n * times for n, times in enumerate(upward)) == pytest.approx(1_000, rel=0.1)


@pytest.mark.parametrize(("upward", "expected"), [(0.0, 0), (1.0, 3)])
def test_an_event_may_carry_its_own_upward_probability(upward: float, expected: int) -> None:
    """setUpwardProb: it overrides p_sel at the publisher and at everybody who forwards."""
    publisher, host = machine({D: HUNDRED, A: ABOVE}, **STATIC, a=3)
    publisher.publish(D, b"", upward=upward)
    pubs = sent(host, Pub)
    assert len([each for each in pubs if each.to >= 100]) == expected
    onward = next(each.message for each in pubs if each.to < 100)
    forwarder, host = machine({D: HUNDRED, A: ABOVE}, **STATIC, a=3)
    forwarder.receive(50, onward)
    assert len([each for each in sent(host, Pub) if each.to >= 100]) == expected
    with pytest.raises(UsageError, match=r"upward = 1.5 is no probability"):
        publisher.publish(D, b"", upward=1.5)


def test_an_event_of_a_sub_topic_goes_on_up_to_the_root_and_no_further() -> None:
    process, host = machine({D: HUNDRED, A: ABOVE, G: (7,)}, **CERTAIN)
    process.receive(7, Pub(event(G), D))
    deeds = host.take()
    assert Delivered(event(G)) in deeds, "a subscriber of d expects the events of d.g"
    communities = {deed.message.community for deed in deeds if isinstance(deed, Sent)}  # type: ignore[attr-defined]
    assert communities == {D, A}
    root, host = machine({A: HUNDRED, D: ABOVE}, **CERTAIN)
    root.receive(100, Pub(event(D), A))
    assert {each.message.community for each in sent(host, Pub)} == {A}  # type: ignore[attr-defined]


def test_each_parent_has_a_table_of_its_own_and_empty_levels_are_passed_over() -> None:
    """Section 3.6, and 2.1: where nobody is interested in super(t), the next above is taken."""
    deep = Topic("a.d.g.h")
    process, _ = machine({deep: HUNDRED, A: ABOVE, OTHER: (150, 151)}, {deep: (OTHER,)}, **STATIC)
    (community,) = process.communities
    tables = {table.parent: (table.of, len(table.view)) for table in community.tables}
    assert tables == {G: (A, 3), OTHER: (OTHER, 2)}


def test_who_is_in_both_communities_is_a_link_without_a_message() -> None:
    process, host = machine({D: HUNDRED, A: (ME, *ABOVE)}, **STATIC, g=1, a=1)
    process.receive(50, Pub(event(D), D))
    deeds = host.take()
    assert deeds.count(Delivered(event(D))) == 1
    inside_a = [deed for deed in deeds if isinstance(deed, Sent) and deed.message.community == A]  # type: ignore[attr-defined]
    assert len(inside_a) >= fan_out(11, 5)
    process.receive(101, Pub(event(D), A))
    assert host.take() == []


def test_who_has_no_part_says_so_and_does_nothing_with_the_event() -> None:
    process, host = machine({D: HUNDRED}, **STATIC)
    process.receive(50, Pub(event(OTHER), OTHER))
    assert host.take() == [Sent(50, Gone(OTHER))]
    with pytest.raises(PeerError, match="which does not include it"):
        process.receive(50, Pub(event(OTHER), D))


def test_applications_that_ask_for_the_impossible_are_told_what_can_be_done() -> None:
    process, _ = machine({D: HUNDRED}, **STATIC)
    with pytest.raises(AlreadySubscribedError):
        process.subscribe(D)
    with pytest.raises(UsageError, match=r'static tables never change; .* membership = "unstructured"'):
        process.subscribe(A)
    with pytest.raises(NotSubscribedError, match="subscribe or register first"):
        process.publish(A, b"")
    with pytest.raises(NotSubscribedError):
        process.unsubscribe(A)
    with pytest.raises(UsageError, match="not registered"):
        process.unregister(D)


def test_a_registered_publisher_forwards_but_delivers_nothing() -> None:
    process, host = machine({D: HUNDRED[1:]}, membership="structured", repair=False)
    process.register(D)
    process.receive(9, AnsContact(D, None, D, (5, 6, 7), 100))
    host.take()
    process.receive(5, Pub(event(D), D))
    deeds = host.take()
    assert {deed.to for deed in deeds if isinstance(deed, Sent)} == {5, 6, 7}
    assert not [deed for deed in deeds if isinstance(deed, Delivered)]
    process.publish(D, b"")
    process.subscribe(D)
    assert Joined(D) in host.take(), "it stands in the community already"


# -- bootstrapping: figure 5 ----------------------------------------------------------------------


def asked(host: RecordingHost) -> list[tuple[Topic | None, tuple[Topic, ...]]]:
    found = [each.message for each in sent(host, ReqContact)]
    return list(dict.fromkeys((each.parent, each.scope) for each in found))  # type: ignore[attr-defined]


def test_the_search_for_super_contacts_widens_until_somebody_is_found() -> None:
    process, host = machine({}, repair=False)
    process.subscribe(G)
    assert asked(host) == [(None, (G,)), (D, (D,))]
    process.timer(Timer(G, "search", D))
    assert asked(host) == [(D, (D, A))]
    process.receive(70, AnsContact(G, D, A, (70, 71)))
    table = process.communities[0].tables[0]
    assert (table.of, table.view.members) == (A, (70, 71))
    process.timer(Timer(G, "search", D))
    assert asked(host) == [(D, (D,))], "what is closer is still looked for, what is above no more"
    process.receive(80, AnsContact(G, D, D, (80,)))
    assert (table.of, table.view.members) == (D, (80,))
    process.receive(70, AnsContact(G, D, A, (72,)))
    assert table.view.members == (80,), "members of a topic further up come too late"
    process.timer(Timer(G, "search", D))
    assert asked(host) == []


def test_a_question_is_answered_by_whoever_knows_and_passed_on_by_others() -> None:
    process, host = machine({D: (ME, 1, 2)}, repair=False)
    question = ReqContact(G, D, 90, 1, (D, A), 2)
    process.receive(91, question)
    (answer,) = sent(host, AnsContact)
    assert answer.to == 90
    assert answer.message.of == D  # type: ignore[attr-defined]
    assert ME in answer.message.members  # type: ignore[attr-defined]
    process.receive(92, question)
    assert sent(host, AnsContact) == [], "only the first time"
    stranger, host = machine({}, repair=False)
    stranger.receive(91, question)
    onward = sent(host, ReqContact)
    assert 0 < len(onward) <= 5
    assert {each.message.ttl for each in onward} == {1}  # type: ignore[attr-defined]
    stranger.receive(91, ReqContact(G, D, 90, 2, (D,), 0))
    assert sent(host, ReqContact) == [], "its time to live is over"


# -- keeping communities in touch: figure 6 -------------------------------------------------------


def test_dead_super_processes_go_and_new_ones_are_asked_for() -> None:
    process, host = machine({D: (ME,), A: (10, 11, 12)}, repair=False)
    table = process.communities[0].tables[0]
    process.timer(Timer(D, "link"))
    assert {each.to for each in sent(host, Check)} == {10, 11, 12}
    process.receive(11, Alive(A, D, A))
    process.timer(Timer(D, "check", A))
    assert table.view.members == (11,)
    assert host.take() == [Sent(11, NewProcess(A, D, A))], "one is left, and tau is 1"
    process.receive(11, AnsContact(D, A, A, (11, 13, 10)))
    assert set(table.view) == {11, 13}, "who was found dead does not come back at once"
    process.receive(13, Gone(A))
    assert set(table.view) == {11}


def test_super_processes_answer_and_who_has_left_says_so() -> None:
    process, host = machine({A: (ME, 20, 21)}, repair=False)
    process.receive(50, Check(A, D, A))
    assert host.take() == [Sent(50, Alive(A, D, A))]
    process.receive(50, NewProcess(A, D, A))
    (answer,) = sent(host, AnsContact)
    assert set(answer.message.members) <= {ME, 20, 21}  # type: ignore[attr-defined]
    process.unsubscribe(A)
    host.take()
    process.receive(50, Check(A, D, A))
    assert host.take() == [Sent(50, Gone(A))]


def test_fresh_super_topic_tables_spread_with_heartbeats() -> None:
    process, _ = machine({D: (ME, 1)}, repair=False)
    process.receive(1, Beat(D, 1, 1.0, (Links(A, A, (30, 31)),)))
    assert set(process.communities[0].tables[0].view) == {30, 31}


# -- repair ---------------------------------------------------------------------------------------


def test_digests_to_the_community_exchange_and_digests_upward_only_offer() -> None:
    process, host = machine({D: (ME, 1), A: (10,)}, psel=1.0, membership="static", repair=True)
    host.clock_us = 1_000_000
    mine = process.publish(D, b"")
    host.take()
    process.timer(Timer(D, "repair"))
    inside, above = sorted(sent(host, Digest), key=lambda each: each.to)
    assert (inside.to, inside.message.topic, inside.message.since_us) == (1, D, 1_000_000)  # type: ignore[attr-defined]
    assert (above.to, above.message.topic, above.message.since_us) == (10, A, None)  # type: ignore[attr-defined]
    missed = event(D)
    process.receive(1, Digest(D, (missed.id,), (0,), None, None, 500_000, D))
    deeds = host.take()
    assert Sent(1, Want(D, (missed.id,), D)) in deeds
    assert [each.to for each in deeds if isinstance(each, Sent) and type(each.message) is Repair] == [1]
    process.receive(1, Repair(missed, D, None, 100, False))
    assert host.take() == [Delivered(missed)], "fetched from the community it is not gossiped again"
    process.receive(10, Want(A, (mine,), D))
    (granted,) = sent(host, Repair)
    assert (granted.to, granted.message.community, granted.message.spread) == (10, A, True)  # type: ignore[attr-defined]


def test_who_is_above_never_hands_anything_down() -> None:
    """A digest from below is an offer: its sender has no part in the community."""
    process, host = machine({A: (ME, 1)}, membership="static", repair=True)
    process.publish(A, b"")
    host.take()
    process.receive(60, Digest(A, (event(D).id,), (0,), None, None, None, D))
    assert host.take() == [Sent(60, Want(A, (event(D).id,), D))]


def test_what_is_older_than_the_subscription_is_not_delivered() -> None:
    process, host = machine({D: (ME, 1)}, membership="static", repair=True)
    host.clock_us = 1_000
    old = event(D)
    process.receive(1, Digest(D, (old.id,), (5_000,), None, None, 10_000, D))
    assert sent(host, Want) == []
    process.receive(1, Repair(old, D, None, 5_000, False))
    assert host.take() == []


def test_newcomers_pass_digests_on_to_those_who_may_have_been_there() -> None:
    """Else an event would not go between two who know only processes that came after it."""
    process, host = machine({D: (ME, 1, 2)}, membership="static", repair=True, keep_ms=1_000)
    host.clock_us = 1_000
    old = event(D)
    process.receive(1, Digest(D, (old.id,), (5_000,), None, None, 10_000, D))
    assert host.take() == [Sent(2, Digest(D, (old.id,), (5_000,), None, None, 10_000, D, 1, 1))]
    process.receive(2, Digest(D, (), (), None, None, 10_000, D, 9, PASSED_MAX))
    assert host.take() == [], "far enough"
    process.receive(2, Digest(D, (), (), None, None, 900, D, 1, 1))
    assert host.take() == [], "this process was there before"
    process.receive(2, Digest(D, (), (), None, None, 10_000, D, ME, 1))
    assert host.take() == [], "its own"
    mine = process.publish(D, b"")
    host.take()
    process.receive(2, Digest(D, (old.id,), (500,), None, None, 10_000, D, 9, PASSED_MAX))
    wanted, handed = (each for each in host.take() if isinstance(each, Sent))
    assert wanted == Sent(9, Want(D, (old.id,), D))
    assert (handed.to, handed.message.event.id) == (9, mine)  # type: ignore[union-attr]
    host.clock_us = 2_000_000
    process.receive(1, Digest(D, (), (), None, None, 3_000_000, D))
    assert [deed for deed in host.take() if type(getattr(deed, "message", None)) is Digest] == [], (
        "nobody remembers what is older"
    )


def test_coming_back_delivers_nothing_twice() -> None:
    process, host = machine({D: (ME, 1)}, repair=False)
    process.receive(1, Pub(event(D, sequence=7), D))
    assert Delivered(event(D, sequence=7)) in host.take()
    process.unsubscribe(D)
    process.subscribe(D)
    process.receive(1, Pub(event(D, sequence=7), D))
    process.receive(1, Pub(event(D, sequence=5), D))
    process.receive(1, Pub(event(D, sequence=8), D))
    delivered = [deed.event.id.sequence for deed in host.take() if isinstance(deed, Delivered)]
    assert delivered == [5, 8]


# -- memory: section 4.4 --------------------------------------------------------------------------


@given(
    members=st.integers(1, 400),
    above=st.integers(0, 30),
    sub_topics=st.integers(0, 30),
    parents=st.integers(0, 4),
    z=st.integers(1, 5),
    c=st.integers(0, 6),
)
def test_tables_do_not_grow_with_the_number_of_topics(
    members: int, above: int, sub_topics: int, parents: int, z: int, c: int
) -> None:
    """floor(ln N) + c entries, and z for each parent, however many topics are above and below."""
    chain = [Topic(".".join(["t"] * depth)) for depth in range(1, above + 2)]
    topic = chain[-1]
    subscribers = {each: tuple(range(500, 520)) for each in chain[:-1]}
    subscribers[topic] = tuple(range(members))
    subscribers |= {Topic(f"{topic}.s{n}"): tuple(range(600, 640)) for n in range(sub_topics)}
    further = tuple(Topic(f"p{n}") for n in range(parents))
    subscribers |= dict.fromkeys(further, tuple(range(700, 720)))
    process, _ = machine(subscribers, {topic: further}, nodes=1_000, membership="static", z=z, c=c)
    (community,) = process.communities
    tables = parents + (1 if above else 0)
    assert len(community.tables) == tables
    assert community.entries == min(members - 1, fan_out(members, c)) + z * tables
