"""Every checker against its rule written naively, on correct runs and on runs broken at random."""

import naive_verdicts as naive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_runs import broken_runs, correct_runs, in_order, row_of

from treecast.checkers import LISTED_MAX, Report, check
from treecast.journal import journal_from_rows

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def judged(rows: list[naive.Row]) -> Report:
    return check(journal_from_rows(rows, quiet=True))


def counts(report: Report) -> dict[str, int]:
    return {verdict.name: verdict.count for verdict in report.verdicts if verdict.skipped is None}


def naive_counts(rows: list[naive.Row]) -> dict[str, int]:
    broken = {
        "causal order": len(naive.disorder(rows)),
        "no duplicate": len(naive.duplicates(rows)),
        "no creation": len(naive.creations(rows)),
        "subscribers only": len(naive.outsiders(rows)),
        "own event at once": len(naive.late_own(rows)),
        "completeness": len(naive.missed(rows)),
        "joining ends": len(naive.unconfirmed(rows)),
    }
    if any(row["kind"] in ("send", "receive") for row in rows):
        broken |= {"subscribers carry": len(naive.strangers(rows)), "received was sent": naive.unsent(rows)}
    return broken


@MANY
@given(correct_runs())
def test_a_correct_run_passes(rows: list[naive.Row]) -> None:
    report = judged(rows)
    assert report.ok, [violation.text for verdict in report.verdicts for violation in verdict.violations]
    delivered = sum(row["kind"] == "deliver" for row in rows)
    for name in ("causal order", "no duplicate", "no creation", "subscribers only"):
        assert report.verdict(name).checked == delivered
    assert report.figures.get("false positives", 0) == naive.false_positives(rows)


@settings(MANY, max_examples=400)
@given(broken_runs())
def test_a_broken_run_is_judged_as_the_naive_rules_judge_it(rows: list[naive.Row]) -> None:
    found, expected = counts(judged(rows)), naive_counts(rows)
    if naive.is_circular(rows):
        # Nothing is before anything in a circle; that it is one must be said.
        assert found.pop("causal order") > 0
        del expected["causal order"]
    assert found == expected


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
    listed = {("chat", violation.nodes[0], tuple(violation.events[0])) for violation in verdict.violations}
    assert listed <= expected
    assert len(listed) == min(len(expected), LISTED_MAX)
    past = naive.happened_before(rows, "chat")
    for violation in verdict.violations:
        late, early = violation.events
        assert late in past[early]
        assert [naive.event_of(rows[row]) for row in violation.rows] == [late, early]
        assert tuple(rows[row]["time_us"] for row in violation.rows) == violation.times_us
