"""The door of the command line: exit codes, and errors as one line.

Exit codes: 0 all is well, 1 a checker found violations, 2 bad input, 130 interrupted.
Invariants: what the caller did wrong is one line on stderr, never a traceback (a
traceback is a bug of ours); nothing heavy is imported to print the version.
"""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from treecast import __version__
from treecast.core import UsageError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _prepare_output()
        if given == ["--version"]:
            code = 0
            sys.stdout.write(f"treecast {__version__}\n")
        else:
            from treecast.cli.commands import run

            code = run(given)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        # The reader (`| head`) has left.
        _drop_output()
        return EXIT_PIPE_CLOSED
    except OSError as error:
        _drop_output()
        reason = error.strerror or str(error)
        return _refuse(reason if error.filename is None else f"{error.filename}: {reason}")
    except KeyboardInterrupt:
        sys.stderr.write("treecast: interrupted\n")
        return EXIT_INTERRUPTED


def _prepare_output() -> None:
    """Make stdout and stderr take whatever is written: names may hold any letter."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the caller has closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """What Python still flushes at exit must go nowhere: there it would fail again."""
    if isinstance(sys.stdout, TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(message: str) -> int:
    line = " ".join(message.splitlines())
    sys.stderr.write(f"treecast: error: {line}\n")
    return EXIT_USAGE
