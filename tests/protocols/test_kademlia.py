"""Kademlia: scripted calls on the recording host, and small networks in the simulator."""

from dataclasses import replace

import pytest
from kademlia_lookups import LOOKUPS, Plan, key_of_value, lookups, value_of
from recording_host import RecordingHost, Sent

from treecast.core import EventId
from treecast.protocols.pulsarcast.dht_messages import (
    Content,
    FindNode,
    FindValue,
    Nodes,
    Ping,
    Pong,
    Provider,
    Request,
    Store,
    Stored,
    Values,
    belongs,
    key_bytes,
    make_provider,
)
from treecast.protocols.pulsarcast.identity import key_of, simulated_identity
from treecast.protocols.pulsarcast.kademlia import Kademlia, Sweep, Timeout
from treecast.protocols.pulsarcast.lookup import Lookup
from treecast.protocols.pulsarcast.settings import DhtSettings

SETTINGS = DhtSettings(k=4, alpha=2, rpc_timeout_ms=100, quiet_ms=1_000)
KEY = key_of_value(7)


def node(number: int = 0, settings: DhtSettings = SETTINGS) -> tuple[RecordingHost, Kademlia]:
    host = RecordingHost()
    return host, Kademlia(host, number, simulated_identity(number), settings, (0, 1, 2))


def asked(host: RecordingHost) -> list[tuple[int, Request]]:
    """Whom the node has sent requests to since this was last asked."""
    sent = [each for each in host.take() if isinstance(each, Sent)]
    return [(each.to, each.message) for each in sent if isinstance(each.message, Request)]


def meet(dht: Kademlia, *nodes: int) -> None:
    for each in nodes:
        dht.receive(each, Ping(EventId(each, 1)))


def by_distance(key: bytes, nodes: range) -> list[int]:
    return sorted(nodes, key=lambda each: key_of(each) ^ int.from_bytes(key, "big"))


def test_a_request_is_answered_by_the_nearest_that_are_known_but_for_the_asker() -> None:
    host, dht = node()
    meet(dht, *range(1, 5))
    host.take()
    dht.receive(5, FindNode(EventId(5, 9), KEY))
    assert asked(host) == [(5, Nodes(EventId(5, 9), tuple(by_distance(KEY, range(1, 5)))))]


def test_a_lookup_asks_alpha_at_a_time_and_each_once() -> None:
    host, dht = node()
    meet(dht, 1, 2, 3, 4)
    host.take()
    found: list[Lookup] = []
    dht.find_nodes(int.from_bytes(KEY, "big"), found.append)
    seen: list[int] = []
    waiting = asked(host)
    while waiting:
        assert len(waiting) <= 2
        to, question = waiting.pop(0)
        assert isinstance(question, FindNode)
        seen.append(to)
        dht.receive(to, Nodes(question.origin, tuple(by_distance(KEY, range(1, 20))[:4])))
        waiting += asked(host)
    assert len(seen) == len(set(seen))
    assert found[0].nearest == by_distance(KEY, range(1, 20))[:4]
    assert found[0].hops == 2


def test_who_does_not_answer_is_passed_over_and_dropped_the_second_time() -> None:
    host, dht = node()
    meet(dht, 1, 2)
    host.take()
    found: list[Lookup] = []
    for turn in (1, 2):
        dht.find_nodes(int.from_bytes(KEY, "big"), found.append)
        questions = dict(asked(host))
        dht.receive(1, Nodes(questions[1].origin, ()))
        host.clock_us += 100_000
        assert dht.timer(Timeout())
        assert found.pop().nearest == [1]
        assert (key_of(2) in dht.table) == (turn == 1)
        asked(host)
    assert host.counts == {"dht: no answer": 2}
    dht.receive(2, Pong(EventId(0, 1)))
    assert host.counts["dht: late answer"] == 1
    assert key_of(2) in dht.table, "whoever speaks is alive"


def test_a_full_buckets_oldest_is_pinged_and_stays_if_it_answers() -> None:
    host, dht = node()
    far = [each for each in range(1, 60) if (key_of(each) ^ key_of(0)) >> 255][:6]
    meet(dht, 1, 2, 3, 4, 5, *far)  # fill the nearer ranges, so that the far one is full
    first = dht.table.buckets[0][0].node
    newcomer = next(each for each in range(60, 200) if (key_of(each) ^ key_of(0)) >> 255)
    host.take()
    meet(dht, newcomer)
    assert not [each for each in asked(host) if isinstance(each[1], Ping)], "it was heard just now"
    host.clock_us += 2_000_000
    meet(dht, newcomer)
    ((to, ping),) = [each for each in asked(host) if isinstance(each[1], Ping)]
    assert to == first
    dht.receive(to, Pong(ping.origin))
    assert key_of(newcomer) not in dht.table
    assert key_of(first) in dht.table


def test_a_value_is_kept_only_under_its_own_key() -> None:
    host, dht = node()
    dht.receive(3, Store(EventId(3, 1), KEY, value_of(8)))
    dht.receive(3, Store(EventId(3, 2), KEY, value_of(7)))
    answers = [message for _, message in asked(host)]
    assert answers == [Stored(EventId(3, 1), False), Stored(EventId(3, 2), True)]
    assert host.counts == {"dht: forged value": 1}
    dht.receive(3, FindValue(EventId(3, 3), KEY))
    assert asked(host)[0][1] == Values(EventId(3, 3), (value_of(7),), ())


def test_what_is_forged_on_the_way_is_not_believed() -> None:
    host, dht = node()
    meet(dht, 1, 2)
    host.take()
    found: list[Lookup] = []
    dht.find_value(KEY, found.append)
    for to, question in asked(host):
        value = value_of(8) if to == 1 else value_of(7)
        dht.receive(to, Values(question.origin, (value,), ()))
    assert list(found[0].values) == [value_of(7)]
    assert host.counts == {"dht: forged value": 1}


def test_a_provider_record_is_its_owners_word() -> None:
    record = make_provider(KEY, 5, simulated_identity(5), 1_000)
    assert belongs(KEY, record)
    assert not belongs(key_of_value(8), record)
    assert not belongs(KEY, Provider(KEY, record.peer, 6, record.issued_us, record.signature))
    assert not belongs(KEY, Provider(KEY, simulated_identity(6).peer, 5, 1_000, record.signature))
    host, dht = node()
    dht.receive(5, Store(EventId(5, 1), KEY, record))
    newer = make_provider(KEY, 5, simulated_identity(5), 2_000)
    other = make_provider(KEY, 6, simulated_identity(6), 500)
    for number, each in enumerate((newer, record, other), start=2):
        dht.receive(5, Store(EventId(5, number), KEY, each))
    assert dht.values.values(KEY, host.now(), providers=True) == (newer, other)


def test_what_nobody_stores_anew_expires() -> None:
    settings = replace(SETTINGS, republish_ms=1_000, expire_ms=3_000)
    host, dht = node(settings=settings)
    dht.receive(3, Store(EventId(3, 1), KEY, value_of(7)))
    asked(host)
    host.clock_us = 1_100_000
    dht.timer(Sweep())
    ((to, question),) = asked(host)
    assert to == 3, "the node that keeps it looks for those who should"
    dht.receive(3, Nodes(question.origin, ()))
    assert [type(message) for _, message in asked(host)] == [Store]
    assert dht.values.values(KEY, host.clock_us), "and it is among them itself"
    host.clock_us = 5_000_000
    dht.values.forget_expired(host.clock_us)
    assert len(dht.values) == 0


def test_content_of_the_same_key_is_the_same_bytes() -> None:
    assert not belongs(KEY, Content(b"value 7 "))
    assert key_bytes(int.from_bytes(KEY, "big")) == KEY


@pytest.mark.parametrize(("nodes", "gone", "least"), [(60, 0.0, 1.0), (200, 0.2, 0.99)])
def test_random_keys_are_found(nodes: int, gone: float, least: float) -> None:
    plan, result = lookups(nodes, gone, count=200)
    assert isinstance(plan, Plan)
    assert len(plan.hops) == 200 < LOOKUPS
    assert plan.found >= least * 200
    assert min(plan.copies.values()) == 20, "stored on the k nearest"
    assert bool(gone) == (result.counts.get("dht: no answer", 0) > 0)


def test_one_seed_gives_one_course() -> None:
    first, second = (lookups(60, 0.2, count=100)[1] for _ in range(2))
    assert first.messages == second.messages
    assert first.counts == second.counts
