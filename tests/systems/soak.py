"""How long each of the soaks runs, and from which seed on.

SOAK_SCENARIOS seeds, or as many as fit in SOAK_SECONDS (600, if not given), from SOAK_SEED on;
without it from the clock, so that no soak repeats the one before. The first seed is printed.
"""

import os
import time
from collections.abc import Callable


def first_complaint(complaint_of: Callable[[int], str], what: str) -> str:
    """Judge one seed after the other; the first complaint, or none when the time is up."""
    count = int(os.environ.get("SOAK_SCENARIOS") or 0)
    deadline = time.monotonic() + float(os.environ.get("SOAK_SECONDS") or 600)
    seed = first = int(os.environ.get("SOAK_SEED") or 1_000 * int(time.time()))
    print(f"\n{what}, from seed {first} on", flush=True)
    while seed < first + count if count else time.monotonic() < deadline:
        if text := complaint_of(seed):
            return text
        seed += 1
    print(f"{seed - first} {what} hold")
    return ""
