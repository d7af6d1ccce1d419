"""The README's example does what the README says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_example_prints_what_stands_below_it() -> None:
    found = re.search(r"```python\n(.*?)```\n\n```\n(.*?)\n\[\.\.\.\]\n```", README.read_text(), re.DOTALL)
    assert found, "an example in Python, and its output up to [...]"
    example, begin = found.groups()
    assert len(example.splitlines()) <= 20
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, str(README), "exec"), {})
    lines = printed.getvalue().splitlines()
    assert lines[: len(begin.splitlines())] == begin.splitlines()
    assert all(line.endswith(" holds") for line in lines[1:])
    assert len(lines) > 10
