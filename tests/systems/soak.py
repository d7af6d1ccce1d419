"""How long a soak runs: SOAK_SCENARIOS seeds, or as many as fit in SOAK_SECONDS (600, if not given)."""

import os
import time
from collections.abc import Callable

FIRST_SEED = 1_000_000


def first_complaint(complaint_of: Callable[[int], str], what: str) -> str:
    """Judge one seed after the other; the first complaint, or none when the time is up."""
    count = int(os.environ.get("SOAK_SCENARIOS") or 0)
    deadline = time.monotonic() + float(os.environ.get("SOAK_SECONDS") or 600)
    seed = FIRST_SEED
    while seed < FIRST_SEED + count if count else time.monotonic() < deadline:
        if text := complaint_of(seed):
            return text
        seed += 1
    print(f"\n{seed - FIRST_SEED} {what} hold")
    return ""
