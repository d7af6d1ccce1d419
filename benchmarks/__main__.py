"""`python benchmarks [NAME ...]`: tables of what this machine measures; the names are those below.

Without arguments: those that take less than ten minutes each.
"""

import sys

import ablations
import camcast
import churn
import detection
import engines
import fault_tolerance
import kademlia_lookups
import membership
import memberships
import published
import pulsarcast_executions
import srpt
from rich.console import Console

BENCHMARKS = {
    "engines": engines.measure,
    "published": published.measure,
    "fault-tolerance": fault_tolerance.measure,
    "detection": detection.measure,
    "srpt": srpt.measure,
    "membership": membership.measure,
    "churn": churn.measure,
    "cam-rounds": camcast.measure_rounds,
    "cam-parasites": camcast.measure_parasites,
    "cam-messages": camcast.measure_messages,
    "cam-upward": camcast.measure_upward,
    "cam-reception": camcast.measure_reception,
    "cam-analysis": camcast.measure_analysis,
    "cam-repair": camcast.measure_repair,
    "cam-scamp": memberships.measure,
    "cam-scale": memberships.measure_large,
    "kademlia": kademlia_lookups.measure,
    "pulsarcast": pulsarcast_executions.measure,
    "ablations": ablations.measure,
}
LONG = {
    "ablations",
    "cam-analysis",
    "cam-messages",
    "cam-reception",
    "cam-scamp",
    "cam-upward",
    "churn",
    "kademlia",
    "membership",
    "pulsarcast",
    "srpt",
}


def main() -> None:
    names = sys.argv[1:] or [name for name in BENCHMARKS if name not in LONG]
    for name in names:
        if name not in BENCHMARKS:
            sys.exit(f'unknown benchmark "{name}"; known: {", ".join(BENCHMARKS)}')
    console = Console(width=140)
    for name in names:
        BENCHMARKS[name](console)


if __name__ == "__main__":
    main()
