"""The door of the command line: exit codes, and errors as one line.

Exit codes: 0 all is well, 1 a checker found violations, 2 bad input, 130 interrupted.
Invariants: what the caller did wrong is one line on stderr, never a traceback (a
traceback is a bug of ours); nothing heavy is imported to print the version.
"""

import os
import sys
from collections.abc import Sequence

from treecast import __version__
from treecast.core import UsageError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        sys.stdout.write(f"treecast {__version__}\n")
        return 0
    try:
        from treecast.cli.commands import run

        code = run(given)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        # The reader (`| head`) has left. What Python still flushes at exit must go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE_CLOSED
    except OSError as error:
        reason = error.strerror or str(error)
        return _refuse(reason if error.filename is None else f"{error.filename}: {reason}")
    except KeyboardInterrupt:
        sys.stderr.write("treecast: interrupted\n")
        return EXIT_INTERRUPTED


def _refuse(message: str) -> int:
    line = " ".join(message.splitlines())
    sys.stderr.write(f"treecast: error: {line}\n")
    return EXIT_USAGE
