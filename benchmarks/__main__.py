"""`python benchmarks [engines] [published] [ablations]`: tables of what this machine measures.

Without arguments: engines and published. Ablations take ten minutes.
"""

import sys

import ablations
import engines
import published
from rich.console import Console

BENCHMARKS = {"engines": engines.measure, "published": published.measure, "ablations": ablations.measure}


def main() -> None:
    names = sys.argv[1:] or ["engines", "published"]
    for name in names:
        if name not in BENCHMARKS:
            sys.exit(f'unknown benchmark "{name}"; known: {", ".join(BENCHMARKS)}')
    console = Console(width=120)
    for name in names:
        BENCHMARKS[name](console)


if __name__ == "__main__":
    main()
