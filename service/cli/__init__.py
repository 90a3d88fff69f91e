"""The command `gpuplan`: every door of the service for a terminal. Imports are lazy, so that `--help` is quick."""

import gc
import os
import sys

_SHORT = frozenset({"plan", "offers", "estimate"})  # they end before there is garbage worth collecting


def main() -> int:
    """Runs one command with the process's arguments; returns its exit code (0 found, 1 our error, 2 usage, 3 nothing fits)."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's own threads cost more to start than they ever save here
    if _SHORT & set(sys.argv[1:2]):
        gc.disable()
    from service.cli.app import run

    return run(sys.argv[1:])
