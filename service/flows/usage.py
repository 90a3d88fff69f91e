"""Usage: the measured use of own pools, read from a Prometheus server or a file and kept with its window."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from string import Template
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import ValidationError

from providers.errors import InvalidInput, ProviderPayloadInvalid
from providers.http import get_json
from service.domain.measured import MeasuredUse
from service.flows.standing import MEASURED
from service.usage_settings import PrometheusSettings

if TYPE_CHECKING:
    from sqlalchemy import Engine

NAME = "prometheus"
_NOISE = 0.005  # by which samples of two series may differ
COLUMNS = frozenset({"pool", "window_start", "window_end"})


class NotMeasured(InvalidInput):
    """There is nothing to measure with, or the server knows nothing of this pool."""

    code = "not-measured"


def measure(http: httpx.Client, settings: PrometheusSettings, pool: str, *, now: datetime) -> MeasuredUse:
    """The pool's use over the window up to now.

    An exporter that names no pods says that nothing is held while engines run: what is held is then not known, not 0.

    Raises:
        NotMeasured: no server is set, or no query gives a number for this pool.
        ProviderError: the server does not answer, refuses, or answers something else.
    """
    if settings.url is None:
        raise NotMeasured("no Prometheus server is set: GPUPLAN_PROMETHEUS__URL names it")
    allocated, active, gpus = (
        _number(http, settings, query, pool, now)
        for query in (settings.allocated_query, settings.active_query, settings.gpus_query)
    )
    if allocated is not None and active is not None and allocated < active - _NOISE:
        allocated = None
    if allocated is None and active is None:
        raise NotMeasured("the server has no figures of this pool in the window")
    return MeasuredUse(
        pool=pool,
        window_start=now - timedelta(hours=settings.window_hours),
        window_end=now,
        allocated_fraction=_share(allocated),
        active_fraction=_share(active),
        gpus=None if not gpus else max(1, round(gpus)),
        source=NAME,
        measured_at=now,
    )


def _number(http: httpx.Client, settings: PrometheusSettings, query: str | None, pool: str, now: datetime) -> float | None:
    """The one number that a query gives; None where it gives none."""
    if query is None:
        return None
    asked = Template(query).substitute(pool=pool, window=f"{settings.window_hours}h")
    headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token.get_secret_value()}"}
    params = {"query": asked, "time": f"{now.timestamp():.3f}"}
    answer = get_json(http, NAME, f"{settings.url}/api/v1/query", headers=headers, params=params)
    try:
        data: Any = answer["data"]
        if data["resultType"] == "scalar":
            values = [data["result"]]
        else:
            values = [series["value"] for series in data["result"]]
        numbers = [float(value[1]) for value in values]
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise ProviderPayloadInvalid(NAME, "the answer is not one of the query API") from error
    if len(numbers) > 1:
        raise ProviderPayloadInvalid(NAME, f"a query gives {len(numbers)} series: it must give one number")
    return numbers[0] if numbers and math.isfinite(numbers[0]) else None


def _share(value: float | None) -> float | None:
    if value is None:
        return None
    if not -_NOISE <= value <= 1 + _NOISE:
        raise ProviderPayloadInvalid(NAME, "a query gives a share under 0 or over 1")
    return min(1.0, max(0.0, value))


def keep_use(engine: "Engine", use: MeasuredUse, *, now: datetime) -> bool:
    """Keeps a measurement as the pool's newest; False where a later one is known. Plans with `as_of` find the one of then."""
    from service.store.engine import writing
    from service.store.feeds import lock_market
    from service.store.standing import entries_now, put_entry

    with writing(engine) as connection:
        lock_market(connection)
        known = next((content for _, name, content in entries_now(connection, MEASURED) if name == use.pool), None)
        if known is not None and MeasuredUse.model_validate(known, strict=False).window_end > use.window_end:
            return False
        put_entry(connection, MEASURED, use.pool, use.model_dump(mode="json"), now=now)
        return True


def list_uses(engine: "Engine") -> list[MeasuredUse]:
    """The newest measurement of every pool."""
    from service.store.engine import reading
    from service.store.standing import entries_now

    with reading(engine) as connection:
        return [MeasuredUse.model_validate(content, strict=False) for _, _, content in entries_now(connection, MEASURED)]


def uses_of_rows(rows: Iterable[Mapping[str, str]], *, source: str, now: datetime) -> list[MeasuredUse]:
    """The newest measurement of each pool in a table.

    Args:
        rows: with the columns pool, window_start, window_end (times with a zone), and allocated_fraction, active_fraction or
            both; gpus and measured_at may stand beside them.
    Raises:
        InvalidInput: a row is none; the pointer says which and where.
    """
    newest: dict[str, MeasuredUse] = {}
    for at, row in enumerate(rows, start=1):
        use = _use_of(row, at, source=source, now=now)
        if use.pool not in newest or use.window_end >= newest[use.pool].window_end:
            newest[use.pool] = use
    if not newest:
        raise InvalidInput("the table has no row")
    return [newest[name] for name in sorted(newest)]


def _use_of(row: Mapping[str, str], at: int, *, source: str, now: datetime) -> MeasuredUse:
    given = {name: value.strip() for name, value in row.items() if name in MeasuredUse.model_fields and value.strip()}
    body: dict[str, Any] = {"source": source, "measured_at": given.get("window_end", now), **given}
    try:
        return MeasuredUse.model_validate(body, strict=False)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = "/".join(str(part) for part in ("", at, *first["loc"]))
        raise InvalidInput(f"row {at}: {first['msg']}", pointer=where) from None
