"""Exit codes, and how an error becomes one line on stderr and one of them."""

import sys
from collections.abc import Callable
from typing import Any

FOUND, OUR_ERROR, USAGE, NOTHING_FITS = 0, 1, 2, 3


class CommandError(Exception):
    """Ends a command: `message` on stderr, `hint` names what to do next."""

    def __init__(self, message: str, *, code: int = OUR_ERROR, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def report(error: CommandError) -> int:
    """Writes the error and its hint to stderr; returns the exit code."""
    print(f"gpuplan: {error}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
    return error.code


def guarded(action: Callable[[], Any], *, passing: type[Exception] | tuple[type[Exception], ...] = ()) -> Any:
    """What `action` returns; our own errors become a CommandError with the field, the reason and what is allowed.

    Errors of the classes in `passing` are left to the caller.
    """
    from pydantic import ValidationError

    from providers.errors import InvalidInput, OptimizerError

    try:
        return action()
    except passing:
        raise
    except InvalidInput as error:
        hint = f"Did you mean: {', '.join(error.allowed)}" if error.allowed else ""
        where = f"{error.pointer}: " if error.pointer else ""
        raise CommandError(f"{where}{error}", code=USAGE, hint=hint) from error
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)
        lines = [f"/{'/'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in faults]
        raise CommandError("\n  ".join(lines), code=USAGE) from error
    except OptimizerError as error:
        raise CommandError(str(error)) from error
