"""`python benchmarks NAME ...`: tables of what this machine measures; a wrong name lists the right ones.

Without arguments: engines and published. Ablations and cam-scamp take ten minutes, others some.
"""

import sys

import ablations
import camcast
import engines
import memberships
import published
from rich.console import Console

BENCHMARKS = {
    "engines": engines.measure,
    "published": published.measure,
    "ablations": ablations.measure,
    "cam-rounds": camcast.measure_rounds,
    "cam-parasites": camcast.measure_parasites,
    "cam-messages": camcast.measure_messages,
    "cam-reception": camcast.measure_reception,
    "cam-analysis": camcast.measure_analysis,
    "cam-repair": camcast.measure_repair,
    "cam-scamp": memberships.measure,
    "cam-scale": memberships.measure_large,
}


def main() -> None:
    names = sys.argv[1:] or ["engines", "published"]
    for name in names:
        if name not in BENCHMARKS:
            sys.exit(f'unknown benchmark "{name}"; known: {", ".join(BENCHMARKS)}')
    console = Console(width=140)
    for name in names:
        BENCHMARKS[name](console)


if __name__ == "__main__":
    main()
