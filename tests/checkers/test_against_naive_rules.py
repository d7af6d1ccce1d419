"""Every checker against its rule written naively, on correct runs and on runs broken at random."""

import naive_verdicts as naive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_runs import broken_runs, correct_runs, in_order, row_of

from treecast.checkers import LISTED_MAX, Report, check
from treecast.journal import journal_from_rows, mark_healed

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def judged(rows: list[naive.Row], healed_us: int | None = None, bound_us: int | None = None) -> Report:
    journal = journal_from_rows(rows, quiet=True)
    return check(journal if healed_us is None else mark_healed(journal, healed_us), bound_us)


def counts(report: Report) -> dict[str, int]:
    return {verdict.name: verdict.count for verdict in report.verdicts if verdict.skipped is None}


def naive_counts(rows: list[naive.Row], healed_us: int | None) -> dict[str, int]:
    has_faults = healed_us is not None
    broken = {
        "causal order": len(naive.disorder(rows)),
        "no duplicate": len(naive.duplicates(rows)),
        "no creation": len(naive.creations(rows)),
        "subscribers only": len(naive.outsiders(rows)),
        "own event at once": len(naive.late_own(rows)),
        "completeness": len(naive.missed(rows, has_faults)),
        "agreement": len(naive.disagreed(rows, has_faults)),
        "joining ends": len(naive.unconfirmed(rows)),
        "the dead are silent": len(naive.stirring(rows)),
    }
    if healed_us is not None:
        broken["progress after healing"] = len(naive.unhealed(rows, healed_us))
    if any(row["kind"] in ("send", "receive") for row in rows):
        broken["subscribers carry"] = len(naive.strangers(rows))
        broken["delivered was received"] = naive.unreceived(rows)
        broken["received was sent"] = naive.unsent(rows, may_repeat=has_faults)
    return broken


healings = st.none() | st.integers(0, 40)


@MANY
@given(correct_runs(), healings)
def test_a_correct_run_passes(rows: list[naive.Row], healed_us: int | None) -> None:
    report = judged(rows, healed_us)
    assert report.ok, [violation.text for verdict in report.verdicts for violation in verdict.violations]
    delivered = sum(row["kind"] == "deliver" for row in rows)
    for name in ("causal order", "no duplicate", "no creation", "subscribers only"):
        assert report.verdict(name).checked == delivered
    assert report.verdict("the dead are silent").checked == sum(row["kind"] == "crash" for row in rows)
    assert report.figures.get("false positives", 0) == naive.false_positives(rows)
    if healed_us is not None:
        assert report.figures["catch-up time us"] == naive.catch_up_us(rows, healed_us)


@settings(MANY, max_examples=400)
@given(broken_runs(), healings)
def test_a_broken_run_is_judged_as_the_naive_rules_judge_it(
    rows: list[naive.Row], healed_us: int | None
) -> None:
    report = judged(rows, healed_us)
    found, expected = counts(report), naive_counts(rows, healed_us)
    if naive.is_circular(rows):
        # Nothing is before anything in a circle; that it is one must be said.
        assert found.pop("causal order") > 0
        del expected["causal order"]
    assert found == expected
    if healed_us is not None:
        assert report.figures["catch-up time us"] == naive.catch_up_us(rows, healed_us)


@st.composite
def losses(draw: st.DrawFn) -> list[naive.Row]:
    """Subscribers who are told so or not, crash, leave and come back; any delivery may be missing."""
    rows = []
    for node in range(4):
        at_us = draw(st.integers(0, 3))
        rows.append(row_of(at_us, node, "subscribe", "chat"))
        if draw(st.integers(0, 4)):
            rows.append(row_of(at_us + draw(st.integers(0, 2)), node, "joined", "chat"))
    for sequence in range(draw(st.integers(1, 5))):
        name = {"source": draw(st.integers(0, 3)), "sequence": sequence}
        at_us = draw(st.integers(2, 12))
        rows.append(row_of(at_us, name["source"], "publish", "chat", **name))
        for node in sorted(draw(st.sets(st.integers(0, 3)))):
            rows.append(row_of(at_us + draw(st.integers(0, 6)), node, "deliver", "chat", **name))
    for node in draw(st.lists(st.integers(0, 3), max_size=3)):
        kind = draw(st.sampled_from(("crash", "crash", "recover", "unsubscribe", "subscribe", "joined")))
        topic = None if kind in naive.CUTS else "chat"
        rows.append(row_of(draw(st.integers(0, 16)), node, kind, topic))
    return in_order(rows)


@settings(MANY, max_examples=600)
@given(losses(), healings)
def test_what_is_owed_is_what_the_naive_rules_owe(rows: list[naive.Row], healed_us: int | None) -> None:
    report = judged(rows, healed_us)
    expected = naive_counts(rows, healed_us)
    found = counts(report)
    for name in ("completeness", "agreement", "joining ends", "progress after healing"):
        assert found.get(name) == expected.get(name)
    for violation in report.verdict("agreement").violations:
        topic, event = "chat", tuple(violation.events[0])
        assert (topic, violation.nodes[0], event) in naive.disagreed(rows, healed_us is not None)


@st.composite
def suspicions(draw: st.DrawFn) -> list[naive.Row]:
    """Nodes that crash, come back and say things about one another, in step with that or not."""
    rows = [row_of(0, node, "subscribe", "chat") for node in range(4)]
    for at_us in draw(st.lists(st.integers(0, 20), max_size=5)):
        node = draw(st.integers(0, 3))
        kind = draw(st.sampled_from(("crash", "recover")))
        rows.append(row_of(at_us, node, kind, None))
        word = "suspect" if kind == "crash" else "trust"
        for judge in draw(st.sets(st.integers(0, 3))) - {node}:
            rows.append(row_of(at_us + draw(st.integers(0, 6)), judge, word, None, peer=node))
    for _ in range(draw(st.integers(0, 4))):
        one, other = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        word = draw(st.sampled_from(("suspect", "trust")))
        rows.append(row_of(draw(st.integers(0, 26)), one, word, None, peer=other))
    return in_order(draw(st.permutations(rows)))


@settings(MANY, max_examples=600)
@given(suspicions(), st.integers(0, 12))
def test_detection_is_judged_as_the_naive_rule_judges_it(rows: list[naive.Row], bound_us: int) -> None:
    report = judged(rows, bound_us=bound_us)
    broken, cases = naive.unnoticed(rows, bound_us)
    verdict = report.verdict("bounded detection")
    assert (verdict.checked, verdict.count) == (cases, len(broken))
    assert {(violation.rows[0], violation.nodes[0]) for violation in verdict.violations} <= broken
    if any(row["kind"] in ("suspect", "trust") for row in rows):
        times_us = naive.detection_times_us(rows)
        assert report.figures["false suspicions"] == naive.false_suspicions(rows)
        assert report.figures["detections"] == len(times_us)
        assert report.figures.get("worst detection time us") == max(times_us, default=None)


@st.composite
def noise(draw: st.DrawFn) -> list[naive.Row]:
    """Events published somewhere and delivered anywhere, seldom too early, often at one instant."""
    rows = []
    for sequence in range(draw(st.integers(1, 7))):
        publisher = draw(st.integers(0, 3))
        name = {"source": publisher, "sequence": sequence}
        at_us = draw(st.integers(0, 8))
        rows.append(row_of(at_us, publisher, "publish", "chat", **name))
        for node in draw(st.lists(st.integers(0, 3), max_size=4)):
            late_us = draw(st.sampled_from((0, 1, 1, 2, 3, 4, 5, -1)))
            rows.append(row_of(max(0, at_us + late_us), node, "deliver", "chat", **name))
    for node in draw(st.lists(st.integers(0, 3), max_size=2)):
        rows.append(row_of(draw(st.integers(0, 12)), node, "recover", None))
    return in_order(draw(st.permutations(rows)))


@settings(MANY, max_examples=400)
@given(noise())
def test_causal_order_agrees_with_reachability(rows: list[naive.Row]) -> None:
    verdict = judged(rows).verdict("causal order")
    if naive.is_circular(rows):
        assert verdict.count > 0
        return
    expected = naive.disorder(rows)
    assert verdict.count == len(expected)
    listed = {
        ("chat", naive.life_of(rows, violation.rows[0]), tuple(violation.events[0]))
        for violation in verdict.violations
    }
    assert listed <= expected
    assert len(listed) == min(len(expected), LISTED_MAX)
    past = naive.happened_before(rows, "chat")
    for violation in verdict.violations:
        late, early = violation.events
        assert late in past[early]
        assert [naive.event_of(rows[row]) for row in violation.rows] == [late, early]
        assert tuple(rows[row]["time_us"] for row in violation.rows) == violation.times_us
