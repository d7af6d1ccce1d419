"""CAMCAST's simulations (section 6.1) and closed forms (section 4), ours beside published.

Every figure is the mean over 100 runs with its 95 % interval.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from communities import QUINTUPLE, THREE, TRIPLE, Case, Outcome, interval, run
from rich.console import Console
from rich.table import Table

from treecast.structures import gossip_formulas as formulas

RUNS = 100
ROUNDS = {THREE: (8.91, 4.63, 6.61), TRIPLE: (8.83, 4.39, 5.44), QUINTUPLE: (13.08, 4.31, 5.89)}
"""Table 1: CAMCAST, gossip broadcast, PMcast."""
PARASITES = {THREE: (11216, 453), TRIPLE: (1699, 369), QUINTUPLE: (3739, 615)}
"""Table 2: gossip broadcast, PMcast; CAMCAST has none."""
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def outcomes(case: Case, runs: int = RUNS) -> list[Outcome]:
    with ProcessPoolExecutor(max_workers=2) as pool:
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
    levels = [formulas.Level(n=n) for n in THREE]
    within = ", ".join(f"{formulas.messages_within(level):.0f}" for level in levels)
    upward = ", ".join(f"{formulas.upward_messages(level):.2f}" for level in levels[:-1])
    console.print(
        f"closed forms, nobody crashed: sent {within}; arrived {upward} for a community that has it"
    )


def measure_reception(console: Console) -> None:
    for seen in ("by all", "by each"):
        table = _table(
            f"cam-reception, cam-reliability: crashes seen {seen} (figures {15 if seen == 'by all' else 17} "
            f"and {16 if seen == 'by all' else 18})",
            "crashed",
            "receive in g",
            "in d",
            "in a",
            "all",
            "broadcast: all",
            "cost",
            "all of g",
            "all of d",
            "all of a",
        )
        for share in SHARES:
            found = outcomes(Case(sizes=THREE, crashed=share, seen=seen))  # type: ignore[arg-type]
            plain = outcomes(Case(sizes=THREE, crashed=share, seen=seen, protocol="gossip-broadcast"))  # type: ignore[arg-type]
            ours, theirs = ([sum(each.received) / sum(each.alive) for each in one] for one in (found, plain))
            table.add_row(
                f"{share:.0%}",
                *(shown(_share(found, level), 3) for level in range(3)),
                shown(ours, 3),
                shown(theirs, 3),
                f"{100 * (interval(theirs)[0] - interval(ours)[0]):.1f} %",
                *(f"{_whole(found, level):.2f}" for level in range(3)),
            )
        console.print(table)


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
    levels = [formulas.Level(n=n) for n in THREE]
    n, clusters = sum(THREE), 10
    found = {
        protocol: outcomes(Case(sizes=THREE, protocol=protocol))  # type: ignore[arg-type]
        for protocol in ("camcast", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical")
    }

    def row(
        what: str, forms: Sequence[float], simulated: Callable[[Outcome], float], digits: int = 0
    ) -> None:
        cells = [
            cell
            for form, runs in zip(forms, found.values(), strict=True)
            for cell in (f"{form:.{digits}f}", shown([simulated(each) for each in runs], digits))
        ]
        table.add_row(what, *cells)

    row(
        "messages",
        (
            formulas.messages(levels),
            formulas.broadcast_messages(n, 5),
            formulas.multicast_messages(levels),
            formulas.hierarchical_messages(clusters, n // clusters, 5, 5),
        ),
        lambda each: each.messages["PUB"],
    )
    row(
        "entries, bottom",
        (
            formulas.memory(levels[0]),
            formulas.table(n, 5),
            formulas.table(n, 5),
            formulas.hierarchical_memory(clusters, n // clusters, 5, 5),
        ),
        lambda each: each.entries[0],
        1,
    )
    row(
        "entries, root",
        (
            formulas.memory(levels[-1], root=True),
            formulas.table(n, 5),
            formulas.multicast_memory(levels),
            formulas.hierarchical_memory(clusters, n // clusters, 5, 5),
        ),
        lambda each: each.entries[-1],
        1,
    )
    row(
        "all receive",
        (
            formulas.reliability(levels),
            formulas.gossip_reliability(5),
            formulas.multicast_reliability(levels),
            formulas.hierarchical_reliability(clusters, 5, 5),
        ),
        lambda each: each.received == each.alive,
        3,
    )
    row(
        "rounds, average",
        (formulas.latency(THREE)[1], formulas.rounds(n), formulas.rounds(n), formulas.rounds(n)),
        lambda each: each.rounds_last or 0,
        1,
    )
    console.print(table)
    console.print("tables hold floor(ln N) + c entries; the formulas' rounds leave out their O(1)")
    pit = formulas.pit_exact(levels[0])
    console.print(f"p_it: {formulas.pit(levels[0]):.4f} as published, {pit:.4f} over all draws")
