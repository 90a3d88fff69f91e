"""`gpuplan serve` and `gpuplan worker`: the two long-running processes."""

from typing import Annotated

import typer


def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind; default GPUPLAN_HOST or 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Default GPUPLAN_PORT or 8000; 0 takes a free one.")] = None,
    no_refresh: Annotated[
        bool, typer.Option("--no-refresh", help="Answer only; a `gpuplan worker` refreshes the prices.")
    ] = False,
) -> int:
    """Serve the REST doors, and refresh prices in the same process."""
    from service.cli.exits import guarded
    from service.cli.settings import settings_with

    def start() -> None:
        from service.main import serve as serve_http

        serve_http(settings_with(host=host, port=port), refresh=not no_refresh)

    guarded(start)
    return 0


def worker() -> int:
    """Refresh prices on schedule, without serving: one of any number of workers is elected."""
    from service.cli.exits import guarded
    from service.cli.settings import settings_with

    def start() -> None:
        from service.main import work

        work(settings_with())

    guarded(start)
    return 0
