"""The command `gpuplan`: every door of the service for a terminal. Imports are lazy, so that `--help` is quick."""

import sys


def main() -> int:
    """Runs one command with the process's arguments; returns its exit code (0 found, 1 our error, 2 usage, 3 nothing fits)."""
    from service.cli.app import run

    return run(sys.argv[1:])
