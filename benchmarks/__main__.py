"""`python benchmarks [NAME ...]`: tables of what this machine measures; the names are those below.

Without arguments: all but those that take ten minutes, ablations, kademlia and pulsarcast.
"""

import sys

import ablations
import engines
import fault_tolerance
import kademlia_lookups
import published
import pulsarcast_executions
from rich.console import Console

BENCHMARKS = {
    "engines": engines.measure,
    "published": published.measure,
    "fault-tolerance": fault_tolerance.measure,
    "kademlia": kademlia_lookups.measure,
    "pulsarcast": pulsarcast_executions.measure,
    "ablations": ablations.measure,
}

LONG = ("ablations", "kademlia", "pulsarcast")


def main() -> None:
    names = sys.argv[1:] or [name for name in BENCHMARKS if name not in LONG]
    for name in names:
        if name not in BENCHMARKS:
            sys.exit(f'unknown benchmark "{name}"; known: {", ".join(BENCHMARKS)}')
    console = Console(width=120)
    for name in names:
        BENCHMARKS[name](console)


if __name__ == "__main__":
    main()
