"""CAMCAST's simulations (section 6.1) and closed forms (section 4), ours beside published.

Every figure is the mean over 100 runs with its 95 % interval, unless its table says otherwise.
"""

import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from statistics import mean

from communities import QUINTUPLE, THREE, TRIPLE, Case, Outcome, interval, run
from rich.console import Console
from rich.table import Table

from treecast.structures import gossip_formulas as formulas

RUNS = 100
UPWARD_RUNS = {THREE: 500, TRIPLE: 1_000}
"""A community's upward messages vary by 60 % of their mean from run to run."""
ROUNDS = {THREE: (8.91, 4.63, 6.61), TRIPLE: (8.83, 4.39, 5.44), QUINTUPLE: (13.08, 4.31, 5.89)}
"""Table 1: CAMCAST, gossip broadcast, PMcast."""
PARASITES = {THREE: (11216, 453), TRIPLE: (1699, 369), QUINTUPLE: (3739, 615)}
"""Table 2: gossip broadcast, PMcast; CAMCAST has none."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
RECEPTION_SHARES = (0.1, 0.3, 0.5)


def outcomes(case: Case, runs: int = RUNS) -> list[Outcome]:
    # What is imported lives on: frozen, it is not searched for garbage after every run.
    with ProcessPoolExecutor(max_workers=2, initializer=gc.freeze) as pool:
        return list(pool.map(partial(run, case), range(runs), chunksize=5))


def reached_root(found: Sequence[Outcome]) -> list[Outcome]:
    return [each for each in found if each.received[-1]]


def shown(values: Sequence[float], digits: int = 2) -> str:
    middle, half = interval(values)
    return f"{middle:.{digits}f} +- {half:.{digits}f}"


def off(ours: Sequence[float], published: float) -> str:
    return f"{100 * (interval(ours)[0] / published - 1):+.1f} %"


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def measure_rounds(console: Console) -> None:
    table = _table(
        "cam-rounds: rounds to disseminate an event (table 1)",
        "communities",
        "reach root",
        "last reception",
        "off by",
        "until silent",
        "off by",
        "paper",
        "broadcast",
        "paper",
    )
    for sizes, (published, broadcast, _) in ROUNDS.items():
        found = outcomes(Case(sizes=sizes))
        whole = reached_root(found)
        last = [each.rounds_last for each in whole if each.rounds_last is not None]
        silent = [each.rounds_silent for each in found]
        plain = [each.rounds_last or 0 for each in outcomes(Case(sizes=sizes, protocol="gossip-broadcast"))]
        table.add_row(
            " ".join(map(str, sizes)),
            f"{len(whole)} of {len(found)}",
            shown(last),
            off(last, published),
            shown(silent),
            off(silent, published),
            str(published),
            shown(plain),
            str(broadcast),
        )
    console.print(table)
    console.print(
        "last reception: over the runs that reach the root; until silent: over all runs, the rounds that\n"
        "the simulation takes, the last of which brings nothing new"
    )


def measure_parasites(console: Console) -> None:
    table = _table(
        "cam-parasites: an event of the root topic (table 2)",
        "communities",
        "broadcast",
        "paper",
        "off by",
        "closed form",
        "CAMCAST",
        "paper",
        "multicast",
        "hierarchical",
    )
    for sizes, (published, _) in PARASITES.items():
        found = {
            protocol: [each.parasites for each in outcomes(Case(sizes=sizes, protocol=protocol, event_of=-1))]  # type: ignore[arg-type]
            for protocol in ("gossip-broadcast", "camcast", "gossip-multicast", "gossip-hierarchical")
        }
        plain = found["gossip-broadcast"]
        table.add_row(
            " ".join(map(str, sizes)),
            shown(plain, 0),
            str(published),
            off(plain, published),
            f"{formulas.broadcast_parasites(sizes[-1], sum(sizes), 5, 0.85):.0f}",
            str(max(found["camcast"])),
            "0",
            str(max(found["gossip-multicast"])),
            shown(found["gossip-hierarchical"], 0),
        )
    console.print(table)


def measure_messages(console: Console) -> None:
    table = _table(
        "cam-messages, cam-upward: 1000 / 100 / 10 processes, by the share that has crashed",
        "crashed",
        "sent in g",
        "in d",
        "in a",
        "arrived g->d",
        "d->a",
        "runs with none g->d",
        "d->a",
    )
    for share in SHARES:
        found = outcomes(Case(sizes=THREE, crashed=share))
        table.add_row(
            f"{share:.0%}",
            *(shown([each.within[level] for each in found], 0) for level in range(3)),
            *(shown([each.upward[level] for each in found]) for level in range(2)),
            *(str(sum(not each.upward[level] for each in found)) for level in range(2)),
        )
    console.print(table)


def measure_upward(console: Console) -> None:
    """Both sums of equation 1, each over the runs in which the community has the event at all."""
    table = _table(
        "cam-upward: events of one publication against the closed forms of 4.3",
        "communities",
        "events",
        "closed form",
        "ours",
        "off by",
        "95 % interval",
        "runs",
    )

    def row(where: str, what: str, form: float, ours: Sequence[float], digits: int) -> None:
        middle, half = interval(ours)
        low, high = (100 * (each / form - 1) for each in (middle - half, middle + half))
        table.add_row(
            where,
            what,
            f"{form:.{digits}f}",
            shown(ours, digits),
            off(ours, form),
            f"{low:+.1f} to {high:+.1f} %",
            str(len(ours)),
        )

    form, hops = 0.0, list[float]()
    for sizes, runs in UPWARD_RUNS.items():
        found = outcomes(Case(sizes=sizes), runs)
        where, levels = " ".join(map(str, sizes)), [formulas.Level(n=n) for n in sizes]
        for name, place in zip("gda", range(3), strict=True):
            sent = [each.within[place] for each in found if each.received[place]]
            row(where, f"sent in {name}", formulas.messages_within(levels[place]), sent, 0)
        for name, place in (("g to d", 0), ("d to a", 1)):
            arrived = [each.upward[place] for each in found if each.received[place]]
            form = formulas.upward_messages(levels[place])
            row(where, f"arrived {name}", form, arrived, 2)
            hops += arrived
    row("both", "arrived, all", form, hops, 2)
    console.print(table)
    console.print(
        "runs: those in which the community has the event; in the last row, of each of the four hops"
    )


def measure_reception(console: Console) -> None:
    """Of the live processes, who receives: CAMCAST beside gossip broadcast."""
    cases = Case(sizes=THREE), Case(sizes=THREE, protocol="gossip-broadcast")
    unharmed = [outcomes(case) for case in cases]
    for seen, figures in (("by all", "15 and 16"), ("by each", "17 and 18")):
        table = _table(
            f"cam-reception, cam-reliability: crashes seen {seen} (figures {figures})",
            "crashed",
            "system",
            "receive in g",
            "in d",
            "in a",
            "all processes",
            "communities alike",
            "all of g",
            "all of d",
            "all of a",
        )
        for share in (0.0, *RECEPTION_SHARES):
            pair = unharmed
            if share:
                pair = [outcomes(replace(case, crashed=share, seen=seen)) for case in cases]  # type: ignore[arg-type]
            _add_reception(table, share, *pair)
        console.print(table)
    console.print(
        "cost: how much less is received than with gossip broadcast; over all processes, and as the mean of\n"
        "the three communities; all of: the share of runs in which all receive"
    )


def _add_reception(table: Table, crashed: float, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> None:
    means = []
    for name, found in (("CAMCAST", ours), ("gossip", theirs)):
        levels = [_share(found, level) for level in range(3)]
        everybody = [sum(each.received) / sum(each.alive) for each in found]
        alike = [mean(r / a for r, a in zip(each.received, each.alive, strict=True) if a) for each in found]
        means.append((mean(everybody), mean(alike)))
        table.add_row(
            f"{crashed:.0%}",
            name,
            *(shown(each, 3) for each in (*levels, everybody, alike)),
            *(f"{_whole(found, level):.2f}" for level in range(3)),
        )
    costs = (f"{100 * (1 - mine / plain):.1f} %" for mine, plain in zip(*means, strict=True))
    table.add_row("", "cost", "", "", "", *costs, end_section=True)


def _share(found: Sequence[Outcome], level: int) -> list[float]:
    return [each.received[level] / each.alive[level] for each in found if each.alive[level]]


def _whole(found: Sequence[Outcome], level: int) -> float:
    return sum(each.received[level] == each.alive[level] for each in found) / len(found)


def measure_repair(console: Console) -> None:
    table = _table(
        "cam-repair: 15 % loss, 30 % crashed from the start, 1000 / 100 / 10 processes",
        "repair",
        "runs in which all live processes receive",
        "events sent",
        "digests",
        "wants",
    )
    for repair in (False, True):
        found = outcomes(Case(sizes=THREE, crashed=0.3, repair=repair))
        table.add_row(
            "on" if repair else "off",
            f"{sum(each.received == each.alive for each in found)} of {len(found)}",
            shown([each.messages.get("PUB", 0) + each.messages.get("REPAIR", 0) for each in found], 0),
            shown([each.messages.get("DIGEST", 0) for each in found], 0),
            shown([each.messages.get("WANT", 0) for each in found], 0),
        )
    console.print(table)
    console.print("a digest a round and live process, for 40 rounds: what a network pays at rest")


def measure_analysis(console: Console) -> None:
    table = _table(
        "cam-analysis: closed forms of section 4 and simulation, 1000 / 100 / 10 processes",
        "what",
        "CAMCAST",
        "simulated",
        "broadcast",
        "simulated",
        "multicast",
        "simulated",
        "hierarchical",
        "simulated",
    )
    found = {
        protocol: outcomes(Case(sizes=THREE, protocol=protocol))  # type: ignore[arg-type]
        for protocol in ("camcast", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical")
    }
    for what, forms, simulated, digits in _analysis():
        cells = [
            cell
            for form, runs in zip(forms, found.values(), strict=True)
            for cell in (f"{form:.{digits}f}", shown([simulated(each) for each in runs], digits))
        ]
        table.add_row(what, *cells)
    console.print(table)
    console.print("tables hold floor(ln N) + c entries; the formulas' rounds leave out their O(1)")
    bottom = formulas.Level(n=THREE[0])
    exact = formulas.pit_exact(bottom)
    console.print(f"p_it: {formulas.pit(bottom):.4f} as published, {exact:.4f} over all draws")


def _analysis() -> list[tuple[str, Sequence[float], Callable[[Outcome], float], int]]:
    """What, its closed forms of the four systems, where a run shows it, and digits."""
    levels = [formulas.Level(n=n) for n in THREE]
    n, clusters = sum(THREE), 10
    broadcast_entries = formulas.table(n, 5)
    hierarchical_entries = formulas.hierarchical_memory(clusters, n // clusters, 5, 5)
    return [
        (
            "messages",
            (
                formulas.messages(levels),
                formulas.broadcast_messages(n, 5),
                formulas.multicast_messages(levels),
                formulas.hierarchical_messages(clusters, n // clusters, 5, 5),
            ),
            lambda each: each.messages["PUB"],
            0,
        ),
        (
            "entries, bottom",
            (
                formulas.memory(levels[0]),
                broadcast_entries,
                broadcast_entries,
                hierarchical_entries,
            ),
            lambda each: each.entries[0],
            1,
        ),
        (
            "entries, root",
            (
                formulas.memory(levels[-1], root=True),
                broadcast_entries,
                formulas.multicast_memory(levels),
                hierarchical_entries,
            ),
            lambda each: each.entries[-1],
            1,
        ),
        (
            "all receive",
            (
                formulas.reliability(levels),
                formulas.gossip_reliability(5),
                formulas.multicast_reliability(levels),
                formulas.hierarchical_reliability(clusters, 5, 5),
            ),
            lambda each: each.received == each.alive,
            3,
        ),
        (
            "rounds, average",
            (formulas.latency(THREE)[1], formulas.rounds(n), formulas.rounds(n), formulas.rounds(n)),
            lambda each: each.rounds_last or 0,
            1,
        ),
    ]
