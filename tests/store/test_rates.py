"""Exchange rates: the shipped file, the day's file, the last known one, and never 1."""

import io
import zipfile
from datetime import date

import httpx
import pytest

from service.flows.rates import UnknownRate, rate_for, refresh_rates
from service.worker import Refresher


def packed(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("eurofxref.csv", text)
    return out.getvalue()


def ecb(content, status=200):
    return httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(status, content=content)), trust_env=False)


DAY = packed("Date, USD, JPY, KRW, \n20 November 2026, 1.25, 187.5, N/A, \n")


def test_the_dollar_is_itself(engine):
    found = rate_for(engine, "USD", date(2026, 9, 1))
    assert (found.per_usd, found.day) == (1.0, None)


def test_the_shipped_file_has_the_rate_of_the_last_day_before(engine):
    # Friday 2 January 2009: 1 EUR = 1.3866 USD = 126.64 JPY (published then); the Sunday after takes it
    found = rate_for(engine, "JPY", date(2009, 1, 4))
    assert found.day == date(2009, 1, 2)
    assert found.per_usd == pytest.approx(126.64 / 1.3866)
    assert found.warning is None
    euro = rate_for(engine, "EUR", date(2009, 1, 4))
    assert euro.per_usd == pytest.approx(1 / 1.3866)


def test_the_days_rates_are_stored_and_used(engine):
    assert refresh_rates(engine, ecb(DAY)) == date(2026, 11, 20)
    found = rate_for(engine, "JPY", date(2026, 11, 21))
    # 187.5 yen and 1.25 dollars for a euro: 150 yen for a dollar
    assert (found.per_usd, found.day) == (150.0, date(2026, 11, 20))
    assert rate_for(engine, "EUR", date(2026, 11, 21)).per_usd == 0.8
    assert refresh_rates(engine, ecb(DAY)) == date(2026, 11, 20)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (packed("Date, USD, JPY\n"), 200),
        (packed("Date, USD, JPY\n20 November 2026, N/A, N/A\n"), 200),
        (packed("nothing of the kind\nat all\n"), 200),
        (b"not a zip", 200),
        (b"", 200),
        (DAY, 503),
    ],
)
def test_a_source_without_rates_leaves_the_last_known_one_with_its_date_and_a_warning(engine, content, status):
    refresh_rates(engine, ecb(DAY))
    assert refresh_rates(engine, ecb(content, status)) is None
    found = rate_for(engine, "JPY", date(2026, 12, 15))
    assert (found.per_usd, found.day) == (150.0, date(2026, 11, 20))
    assert "2026-11-20" in found.warning
    assert "25 days" in found.warning


@pytest.mark.parametrize("currency", ["XYZ", "AED", "HRK"])  # never quoted, never quoted, and given up for the euro in 2023
def test_a_currency_without_a_rate_is_an_error_and_never_one(engine, currency):
    with pytest.raises(UnknownRate) as refused:
        rate_for(engine, currency, date(2026, 9, 1))
    assert refused.value.pointer == "/currency"


def test_a_day_before_all_rates_is_an_error(engine):
    with pytest.raises(UnknownRate):
        rate_for(engine, "JPY", date(1990, 1, 1))


def test_the_leading_process_reads_the_rates_once_a_day(engine, clock):
    refresher = Refresher(engine=engine, adapters=(), intervals={}, http=ecb(DAY), clock=clock, holder="a")
    [job] = [one for one in refresher.scheduler.get_jobs() if one.id == "rates"]
    assert job.trigger.interval.total_seconds() == 86_400
    job.func()  # it does not lead yet
    assert rate_for(engine, "JPY", date(2026, 11, 21)).per_usd != 150.0
    refresher.lead()
    job.func()
    assert rate_for(engine, "JPY", date(2026, 11, 21)).per_usd == 150.0
