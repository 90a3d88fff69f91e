"""`gpuplan launch`: the file or command that starts an option of a plan."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.exits import FOUND, USAGE, CommandError, guarded

if TYPE_CHECKING:
    from service.domain.plan import Plan

FORMATS = "torchrun, accelerate, deepspeed, skypilot, dstack, vllm"


def launch(
    form: Annotated[str, typer.Option("--format", help=f"One of: {FORMATS}.")],
    option: Annotated[int, typer.Option(min=1, max=200, help="The option's rank.")] = 1,
    plan: Annotated[
        str | None, typer.Option(help="A plan's id, or @FILE with the JSON of `gpuplan plan --json`; absent: the last plan here.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write the file here instead of to stdout.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="The answer of GET /plans/{id}/launch on stdout.")] = False,
) -> int:
    """Hand over the file that starts an option: process counts, sharding and place as the plan counted on them.

    The file goes to stdout, notes to stderr: gpuplan launch --format skypilot > task.yaml
    """
    found = _launch(form, option, plan)
    if json_:
        from service.cli.render import print_json

        print_json(found)
        return FOUND
    if output is not None:
        try:
            output.write_text(found.content, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"--output: the file cannot be written ({type(error).__name__})") from error
    else:
        sys.stdout.write(found.content)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return FOUND


def _launch(form: str, option: int, wanted: str | None) -> Any:
    from pydantic import TypeAdapter

    from providers.errors import InvalidInput
    from service.flows.launch import Launch, LaunchFormat
    from service.flows.launch import launch as launch_option

    url = os.environ.get("GPUPLAN_URL")
    if url and wanted is not None and not wanted.startswith("@"):
        from service.cli.remote import RemoteMarket

        answer = RemoteMarket(url).call("GET", f"/plans/{wanted}/launch", params={"option": option, "format": form})
        return TypeAdapter(Launch).validate_python(answer)
    try:
        known = LaunchFormat(form)
    except ValueError as error:
        raise CommandError("--format: no such format", code=USAGE, hint=f"One of: {FORMATS}") from error
    plan = _plan(wanted)
    try:
        return launch_option(plan, option=option, form=known)
    except InvalidInput as error:
        hint = f"Instead: {', '.join(error.allowed)}" if error.allowed else ""
        raise CommandError(f"--{error.pointer.strip('/')}: {error}", code=USAGE, hint=hint) from error


def _plan(wanted: str | None) -> "Plan":
    """The last plan of this machine, or one from a file."""
    from pydantic import TypeAdapter

    from service.cli.last_plan import last_plan
    from service.domain.plan import Plan

    if wanted is not None and wanted.startswith("@"):
        from service.cli.request import read_json

        found: Plan = guarded(lambda: TypeAdapter(Plan).validate_python(read_json(wanted[1:], "--plan")))
        return found
    last = last_plan()
    if last is None:
        raise CommandError("there is no plan of the last 24 hours", hint="ask first: gpuplan ask cheapest 70b qlora in EU")
    if wanted is not None and last.plan_id != wanted:
        raise CommandError("no plan of this machine has this id", hint="--plan @FILE takes the JSON of gpuplan plan --json")
    return last
