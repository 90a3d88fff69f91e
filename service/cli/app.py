"""The typer application: one module per command, each of which imports what is heavy only when it runs."""

import sys

import typer

from service.cli import (
    accept,
    ask,
    backup,
    breakeven,
    calibrate,
    check_gpu,
    doctor,
    estimate,
    evaluate,
    evaluate_decision,
    keys,
    launch,
    measure,
    offers,
    openapi,
    plan,
    policy,
    record,
    refresh,
    report,
    saved,
    serve,
    usage,
    watch,
)
from service.cli.exits import OUR_ERROR, USAGE, CommandError
from service.cli.exits import report as told

EPILOG = (
    "Exit codes: 0 found, 1 our error, 2 usage, 3 nothing fits. Settings are GPUPLAN_… variables (gpuplan doctor lists them). "
    "Start here: gpuplan plan --model llama-3.1-8b --technique qlora --tokens 50M --sensitivity internal --region EU"
)

app = typer.Typer(
    name="gpuplan",
    help="Where to run a GPU workload at the least cost: every cloud offer, spot or on demand, against your own hardware.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("plan")(plan.plan)
app.command("offers")(offers.offers)
app.command("estimate")(estimate.estimate)
app.command("breakeven")(breakeven.breakeven)
app.command("refresh")(refresh.refresh)
app.command("record")(record.record)
app.command("ask")(ask.ask)
app.command("launch")(launch.launch)
app.command("watch")(watch.watch)
app.command("check-gpu")(check_gpu.check_gpu)
app.command("serve")(serve.serve)
app.command("worker")(serve.worker)
app.command("doctor")(doctor.doctor)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
evaluate.app.command("tco")(evaluate_decision.tco)
evaluate.app.command("spot")(evaluate_decision.spot)
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(keys.app, name="keys")
app.add_typer(accept.app, name="accept")
app.add_typer(policy.app, name="policy")
app.add_typer(usage.app, name="usage")
app.add_typer(saved.app, name="plans")
app.command("report")(report.report)
app.command("calibrate")(calibrate.calibrate)
app.command("measure")(measure.measure)
app.command("openapi")(openapi.openapi)


def run(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code."""
    try:
        code = app(args=arguments, standalone_mode=False)
    except CommandError as error:
        return told(error)
    except typer.TyperException as error:  # unknown command or option, a value of the wrong type
        print(f"gpuplan: {_usage_fault(error)}", file=sys.stderr)
        return USAGE
    except typer.Exit as exit_:
        return exit_.exit_code
    except (typer.Abort, KeyboardInterrupt, BrokenPipeError):
        return OUR_ERROR
    return code if isinstance(code, int) else 0


def _usage_fault(error: typer.TyperException) -> str:
    """The library's words; its base class promises no more than text."""
    told = getattr(error, "format_message", None)
    return f"{told() if told else error} (gpuplan --help lists commands and options)"
