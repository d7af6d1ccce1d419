"""Make the project's virtual environment; `make` calls this before whatever needs one.

A fresh Debian's python3 has `venv` but neither pip nor ensurepip. Then pip comes, without
root, out of Debian's own package python3-pip-whl.

Invariants: only the standard library; nothing outside of the environment's folder is
changed; run again, it repairs what is there; when it cannot go on, it says in one
message what is missing and which command brings it. Nothing here is newer than
Python 3.7, so that an old Python is told so plainly.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON_MIN = (3, 11)
PROJECT = Path(__file__).resolve().parent.parent
PIP_PACKAGE = "python3-pip-whl"
INSTALL_VENV = "apt-get install python3-venv"


class SetUpError(Exception):
    """The machine lacks something; the message says what, and what brings it."""


def check_python() -> None:
    """Refuse a Python that is too old, or a cut-down one that cannot make environments."""
    if sys.version_info < PYTHON_MIN:
        raise SetUpError(
            f"treecast needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}. "
            "Install a newer one and name it: make test PYTHON=python3.11"
        )
    if importlib.util.find_spec("venv") is None:
        raise SetUpError(f"{sys.executable} has no module venv; as root, run: {INSTALL_VENV}")


def succeeds(*command: str, cwd: Path = PROJECT) -> bool:
    """Whether `command` runs and ends well; what it says is not shown."""
    try:
        done = subprocess.run(command, cwd=str(cwd), capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def make_environment(environment: Path) -> str:
    """Make the environment with pip in it, unless it stands already; return its Python."""
    python = str(environment / "bin" / "python")
    same = f"import sys, pip; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    if succeeds(python, "-c", same):
        return python
    say(f"making {environment.name} with Python {sys.version.split()[0]}")
    if not succeeds(sys.executable, "-m", "venv", "--clear", "--without-pip", str(environment)):
        raise SetUpError(f"`{sys.executable} -m venv {environment}` fails; as root, run: {INSTALL_VENV}")
    if not succeeds(python, "-m", "ensurepip", "--default-pip"):
        install_debian_pip(python)
    return python


def install_debian_pip(python: str) -> None:
    """Install pip into the environment of `python` from Debian's own package of it."""
    say(f"this Python has no ensurepip; taking pip from Debian's package {PIP_PACKAGE}")
    with tempfile.TemporaryDirectory(prefix="treecast-set-up-") as name:
        folder = Path(name)
        wheel = download_debian_pip(folder)
        # A wheel of pip is a zip file that can run itself.
        if wheel is None or not succeeds(python, f"{wheel}/pip", "install", "--no-index", str(wheel)):
            raise SetUpError(
                f"{sys.executable} has no ensurepip, and pip could not be had from Debian's package "
                f"{PIP_PACKAGE}; as root, run: apt-get update && {INSTALL_VENV}"
            )


def download_debian_pip(folder: Path) -> Path | None:
    """Unpack Debian's package of pip into `folder`; return the wheel, or None if there is none."""
    # The machine's package lists may be missing or stale, and writing them takes root:
    # the second attempt fetches lists of its own into `folder`.
    for needed in ("lists/partial", "cache/archives/partial"):
        (folder / needed).mkdir(parents=True)
    own_lists = ("-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache")
    for options in ((), own_lists):
        apt_get = ("apt-get", *options)
        if options and not succeeds(*apt_get, "update"):
            continue
        if not succeeds(*apt_get, "download", PIP_PACKAGE, cwd=folder):
            continue
        for package in folder.glob("*.deb"):
            succeeds("dpkg-deb", "-x", str(package), str(folder / "unpacked"))
        for wheel in folder.glob("unpacked/**/pip-*.whl"):
            return wheel
    return None


def install_locked(python: str) -> None:
    """Install what the lock names, exactly, and treecast itself in place."""
    say("installing the locked packages")
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
    steps = (
        (*pip, "--require-hashes", "--only-binary=:all:", "-r", "requirements.lock"),
        (*pip, "--no-deps", "--no-build-isolation", "--editable", "."),
    )
    for step in steps:
        if subprocess.run(step, cwd=str(PROJECT), check=False).returncode != 0:
            raise SetUpError(
                "pip could not install the locked packages, and says above why; "
                "it needs the network or a mirror, and 400 MB of disk"
            )


def say(text: str) -> None:
    print(f"set-up: {text}", flush=True)


def main() -> int:
    try:
        check_python()
        install_locked(make_environment(PROJECT / ".venv"))
    except SetUpError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
