"""The checker of dissemination trees, against a naive one on random links, and on journals made by hand."""

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from treecast.checkers.report import Verdict
from treecast.checkers.trees import check_trees
from treecast.journal.schema import SCHEMA
from treecast.journal.store import mark_quiet

Step = tuple[str, int, int | None]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("hangs"), st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4))),
        st.tuples(st.sampled_from(["cut_off", "subscribe", "unsubscribe"]), st.integers(0, 4), st.none()),
        st.tuples(st.just("crash"), st.integers(0, 4), st.none()),
    ),
    max_size=25,
)


def judge(steps: list[Step], *, quiet: bool = True) -> tuple[Verdict, Verdict, dict[str, Any]]:
    rows = [
        {
            "run": "r",
            "time_us": 10 * turn,
            "node": node,
            "kind": kind,
            "topic": None if kind in {"crash", "recover"} else "t",
            "peer": peer,
        }
        for turn, (kind, node, peer) in enumerate(steps)
    ]
    table = mark_quiet(pa.Table.from_pylist(rows, schema=SCHEMA), quiet)
    (cycles, orphans), figures = check_trees(table)
    return cycles, orphans, figures


def naive(steps: list[Step]) -> tuple[bool, bool]:
    """Whether a cycle came about at a link, and whether all hang below one root that is alive at the end."""
    parents: dict[int, int | None] = {}
    subscribed: set[int] = set()
    down: set[int] = set()
    cyclic = False
    for kind, node, peer in steps:
        match kind:
            case "hangs":
                parents[node] = peer
                above = _ancestors(node, parents)
                cyclic |= node in above
            case "cut_off":
                parents.pop(node, None)
            case "subscribe":
                subscribed.add(node)
            case "unsubscribe":
                subscribed.discard(node)
            case "crash":
                down.add(node)
                parents.pop(node, None)
                subscribed.discard(node)
    roots = set()
    for node in subscribed:
        chain = [node, *_ancestors(node, parents)]
        top = chain[-1]
        if any(each in down or each not in parents for each in chain) or parents[top] is not None:
            return cyclic, False
        roots.add(top)
    return cyclic, len(roots) <= 1


def _ancestors(node: int, parents: dict[int, int | None]) -> list[int]:
    found: list[int] = []
    above = parents.get(node)
    while above is not None and above not in found:
        found.append(above)
        above = parents.get(above)
    return found


@given(STEPS)
def test_it_says_what_a_naive_checker_says(steps: list[Step]) -> None:
    cycles, orphans, _ = judge(steps)
    if cycles.skipped:
        assert not any(kind == "hangs" for kind, _, _ in steps)
        return
    cyclic, whole = naive(steps)
    assert cycles.ok != cyclic
    assert orphans.ok == whole


def test_a_cycle_is_named_where_it_comes_about() -> None:
    cycles, _, figures = judge([("hangs", 1, 2), ("hangs", 2, 3), ("hangs", 3, 1)])
    assert cycles.violations[0].text == (
        "topic t: at 20 us (row 2) node 3 hangs below itself, by 3 -> 1 -> 2 -> 3"
    )
    assert figures["links made"] == 3


def test_orphans_are_judged_at_the_end_of_a_run_that_was_not_cut() -> None:
    steps: list[Step] = [("subscribe", 1, None), ("hangs", 1, 2), ("hangs", 2, None), ("crash", 2, None)]
    _, orphans, figures = judge(steps)
    assert "node 1, subscribed in row 0, hangs below node 2, which has crashed" in orphans.violations[0].text
    assert judge(steps, quiet=False)[1].skipped is not None
    _, orphans, figures = judge([*steps, ("hangs", 1, None)])
    assert orphans.ok
    assert figures["trees at rest after us"] == 10


def test_two_trees_are_one_too_many() -> None:
    steps: list[Step] = [
        ("subscribe", 1, None), ("subscribe", 2, None), ("hangs", 1, None), ("hangs", 2, None),
    ]  # fmt: skip
    _, orphans, _ = judge(steps)
    assert "there are 2 trees: node 1 below 1, node 2 below 2" in orphans.violations[0].text
