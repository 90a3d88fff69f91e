"""The last plan of `gpuplan ask` and `gpuplan plan` on this machine, kept 24 hours for explain, more, why not and launch."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from service.domain.plan import Plan

KEPT: Final = timedelta(hours=24)


def _path() -> Path:
    folder = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(folder) / "gpuplan" / "last-plan.json"


def keep_plan(plan: "Plan") -> None:
    """Takes the place of the plan before; a folder that cannot be written is no fault of the question."""
    from contextlib import suppress

    from pydantic_core import to_json

    path = _path()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.touch(mode=0o600)
        beside.write_bytes(to_json(plan, inf_nan_mode="null"))
        beside.replace(path)


def last_plan() -> "Plan | None":
    """The plan; None when there is none of the last 24 hours that this version can read."""
    from pydantic import TypeAdapter, ValidationError

    from service.domain.plan import Plan

    path = _path()
    try:
        if datetime.now(UTC) - datetime.fromtimestamp(path.stat().st_mtime, UTC) > KEPT:
            return None
        found: Plan = TypeAdapter(Plan).validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return found
