"""SCAMP: view sizes, leaving, leases and isolation (its paper's figures; CAMCAST's [24])."""

from math import exp, log
from statistics import mean

import pytest
from memberships import grown
from recording_host import Joined, RecordingHost, Sent

from treecast.core import Hierarchy, Topic
from treecast.protocols.camcast.camcast import Camcast
from treecast.protocols.camcast.membership import Timer
from treecast.protocols.camcast.messages import (
    AnsContact,
    Beat,
    Forward,
    Gone,
    Heard,
    Join,
    Kept,
    Replace,
    Welcome,
)
from treecast.protocols.camcast.scamp import HOPS_MAX, Scamp
from treecast.protocols.camcast.settings import CamcastSettings
from treecast.protocols.setup import Setup

T = Topic("t")
ME = 0


def member(*others: int, seed: int = 1) -> tuple[Camcast, Scamp, RecordingHost]:
    """A process that stands in the group, with these in its view."""
    host = RecordingHost(seed)
    process = Camcast(host, ME, Setup(range(100), {}, CamcastSettings(repair=False), Hierarchy()))
    process.subscribe(T)
    process.timer(Timer(T, "search"))
    process.timer(Timer(T, "search"))
    assert Joined(T) in host.take(), "nobody was found: it is the group"
    scamp = process.communities[0].membership
    assert isinstance(scamp, Scamp)
    for other in others:
        process.receive(other, Join(T, other, 1, 0, 1) if not scamp.view else Forward(T, other, 1, 0))
    assert set(scamp.view) == set(others)
    host.take()
    return process, scamp, host


def sent(host: RecordingHost, kind: type) -> list[Sent]:
    return [deed for deed in host.take() if isinstance(deed, Sent) and type(deed.message) is kind]


def test_a_newcomer_asks_a_contact_and_takes_it_into_its_view() -> None:
    host = RecordingHost()
    process = Camcast(host, ME, Setup(range(100), {}, CamcastSettings(repair=False), Hierarchy()))
    process.subscribe(T)
    host.take()
    process.receive(7, AnsContact(T, None, T, (7,)))
    assert sent(host, Join) == [Sent(7, Join(T, ME, 1, 5, 0))]
    process.receive(8, Welcome(T, 3, 2.5, ()))
    deeds = host.take()
    assert Joined(T) in deeds
    assert Sent(8, Kept(T, True)) in deeds
    assert process.communities[0].membership.view.members == (8,)


def test_the_contact_sends_a_copy_to_everyone_it_knows() -> None:
    process, scamp, host = member(1, 2, 3)
    process.receive(9, Join(T, 9, 1, 0, 0))
    deeds = host.take()
    copies = [deed.to for deed in deeds if isinstance(deed, Sent) and isinstance(deed.message, Forward)]
    assert sorted(copies) == [1, 2, 3]
    assert [deed for deed in deeds if isinstance(deed, Sent) and deed.to == 9] == [
        Sent(9, Welcome(T, 3, scamp._mean, ()))
    ]
    assert 9 not in scamp.view, "the contact itself keeps no copy"


def test_a_copy_is_kept_with_probability_one_over_one_plus_the_view() -> None:
    kept = 0
    for seed in range(2_000):
        process, scamp, _ = member(1, 2, 3, seed=seed)
        process.receive(1, Forward(T, 9, 1, HOPS_MAX))
        kept += 9 in scamp.view
    assert kept / 2_000 == pytest.approx(1 / 4, abs=0.03)


def test_a_copy_that_a_view_has_goes_on_and_the_last_hop_keeps_it() -> None:
    process, scamp, host = member(1, 2)
    process.receive(1, Forward(T, 2, 1, 5))
    (onward,) = sent(host, Forward)
    assert onward == Sent(1, Forward(T, 2, 1, 4)), "not to the subscriber himself"
    process.receive(1, Forward(T, ME, 1, 0))
    assert host.take() == [], "nobody keeps itself"
    process.receive(1, Forward(T, 9, 1, 0))
    assert 9 in scamp.view


def test_who_leaves_has_himself_replaced_from_his_view() -> None:
    """Of the l' processes that know him all but c + 1 are told to take one of his own instead."""
    process, _, host = member(1, 2, 3)
    for holder in (11, 12, 13, 14):
        process.receive(holder, Kept(T, False))
    process.unsubscribe(T)
    deeds = [deed for deed in host.take() if isinstance(deed, Sent)]
    told = {deed.to: deed.message.substitute for deed in deeds if isinstance(deed.message, Replace)}
    assert told == {11: 1, 12: 2, 13: 3, 14: None}
    assert {deed.to for deed in deeds if isinstance(deed.message, Gone)} == {1, 2, 3}


def test_the_holder_takes_the_substitute() -> None:
    process, scamp, host = member(1, 2)
    process.receive(1, Replace(T, 8))
    assert set(scamp.view) == {8, 2}
    assert Sent(8, Kept(T, True)) in host.take()
    process.receive(2, Replace(T, None))
    assert set(scamp.view) == {8}
    process.receive(8, Replace(T, ME))
    assert set(scamp.view) == set(), "nobody takes itself"


def test_a_subscription_ends_with_its_lease_unless_it_is_renewed() -> None:
    process, scamp, host = member(1, 2)
    host.clock_us = 119_000_000
    process.receive(1, Forward(T, 2, 2, HOPS_MAX))
    assert host.take() == [Sent(2, Kept(T, False))], "a renewal stays where the subscription was"
    host.clock_us = 121_000_000
    for other in (1, 2):
        process.receive(other, Heard(T))
    process.timer(Timer(T, "beat"))
    assert set(scamp.view) == {2}


def test_who_does_not_answer_heartbeats_leaves_the_view() -> None:
    process, scamp, host = member(1, 2)
    host.clock_us = 15_000_000
    process.receive(2, Beat(T, 1, 1.0, ()))
    assert host.take() == [Sent(2, Heard(T))]
    process.receive(2, Heard(T))
    host.clock_us = 21_000_000
    process.timer(Timer(T, "beat"))
    assert set(scamp.view) == {2}


def test_a_subscription_that_nobody_spreads_goes_to_another_who_need_not_pass_it_on() -> None:
    process, _, host = member(1)
    host.clock_us = 130_000_000
    process.receive(1, Heard(T))
    process.receive(1, Forward(T, 1, 9, HOPS_MAX))
    process.receive(1, Beat(T, 1, 1.0, ()))
    process.timer(Timer(T, "beat"))
    (first,) = sent(host, Join)
    process.timer(Timer(T, "join"))
    (second,) = sent(host, Join)
    assert first.message.steps == 5  # type: ignore[attr-defined]
    assert second.message.steps == -HOPS_MAX  # type: ignore[attr-defined]
    for seed in range(20):
        other, _, host = member(3, 4, seed=seed)
        other.receive(9, Join(T, 9, 1, second.message.steps, 0))  # type: ignore[attr-defined]
        assert {type(deed.message) for deed in host.take() if isinstance(deed, Sent)} == {Forward, Welcome}


def test_who_looks_for_another_part_of_the_group_does_not_ask_its_own() -> None:
    process, scamp, host = member(1)
    scamp.found((1,), None)
    assert host.take() == [], "known already"
    scamp.found((1, 9), None)
    assert [each.to for each in sent(host, Join)] == [9]
    process.timer(Timer(T, "join"))
    assert sent(host, Join) == [], "it searches once more"
    scamp.found((1, 8), None)
    (join,) = sent(host, Join)
    assert join.to == 8
    assert join.message.steps < 0, "and lets the contact itself spread the subscription"  # type: ignore[attr-defined]


def test_who_hears_no_heartbeats_subscribes_again() -> None:
    process, _, host = member(1)
    host.clock_us = 19_000_000
    process.timer(Timer(T, "beat"))
    assert sent(host, Join) == []
    process.receive(1, Heard(T))
    host.clock_us = 21_000_000
    process.timer(Timer(T, "beat"))
    (join,) = sent(host, Join)
    assert join.to == 1, "through whom it knows, who does answer"


def test_copies_do_not_multiply_without_end() -> None:
    process, _, host = member(1, 2)
    for _ in range(10 * HOPS_MAX):
        process.receive(1, Forward(T, 2, 1, 20))
    assert len(sent(host, Forward)) == HOPS_MAX


def test_views_hold_ln_n_on_average() -> None:
    """Ten thousand processes: `python benchmarks cam-scamp`."""
    assert mean(grown(100, seed).mean for seed in range(8)) == pytest.approx(log(100), rel=0.15)
    assert grown(1_000, 1).mean == pytest.approx(log(1_000), rel=0.15)


def test_the_group_stays_connected_when_half_of_it_leaves() -> None:
    for seed in range(4):
        group = grown(200, seed, leave=0.5, after_ms=45_000.0, upkeep=True)
        assert len(group.views) == 100
        assert group.parts == 1


def test_isolated_processes_return_after_crashes() -> None:
    isolated = 0
    for seed in range(3):
        isolated += grown(150, seed, crash=0.3, after_ms=100.0).isolated
        healed = grown(150, seed, crash=0.3, after_ms=300_000.0, upkeep=True)
        assert (healed.isolated, healed.parts) == (0, 1)
    assert isolated > 3, "crashes should leave some in nobody's view"


def test_n_is_estimated_from_views() -> None:
    process, scamp, _ = member(1, 2, 3)
    for _ in range(100):
        process.receive(1, Beat(T, 7, 6.49, ()))
        process.timer(Timer(T, "beat"))
    assert log(scamp.size()) == pytest.approx(log(1_000), abs=0.5)
    assert exp(6.49 + 0.42) == pytest.approx(1_000, rel=0.05)
