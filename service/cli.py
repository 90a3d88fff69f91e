"""The command `gpuplan`."""


def main() -> int:
    """Runs one command; returns its exit code."""
    return 0
