"""`gpuplan backup` and `gpuplan restore`: a copy of the SQLite database, taken while it is in use."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from service.cli.exits import FOUND, guarded


def backup(
    target: Annotated[Path, typer.Argument(help="The file to write.")],
    replace: Annotated[bool, typer.Option(help="Replace the file if it exists.")] = False,
) -> int:
    """Copy the database to a file, also while a service uses it; the copy is checked before it appears."""
    from service.cli.settings import settings_with
    from service.flows.backup import backup_database

    settings = settings_with()
    size = guarded(lambda: backup_database(settings.database_url, target, replace=replace))
    print(f"{settings.database_shown} is copied to {target} ({size:,} bytes).", file=sys.stderr)
    return FOUND


def restore(
    source: Annotated[Path, typer.Argument(help="A file that `gpuplan backup` wrote.")],
    replace: Annotated[bool, typer.Option(help="Replace the present database; every service on it has to be stopped.")] = False,
) -> int:
    """Put a checked copy in the place of the database."""
    from service.cli.settings import settings_with
    from service.flows.backup import restore_database

    settings = settings_with()
    revision = guarded(lambda: restore_database(source, settings.database_url, replace=replace))
    print(f"{settings.database_shown} is restored (schema {revision}). Check it: gpuplan doctor --db", file=sys.stderr)
    return FOUND
