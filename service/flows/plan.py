"""Plan: the answer to a request on the newest snapshot, or on prices as they were."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Final

from providers.errors import InvalidInput
from service.domain.history import FIRST_YEAR, LAST_YEAR, utc
from service.domain.plan import Plan
from service.domain.request import DataSensitivity, OnPremPool, PlanRequest
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.solver.market import Market
from service.solver.solve import solve

if TYPE_CHECKING:  # a cold command plans on the newest prices and reads no database layer
    from sqlalchemy import Engine

    from service.flows.as_of import PastMarket
    from service.flows.status import FeedSetting

PLAN_FIELDS: Final = tuple(field.name for field in fields(Plan))


def check_request(request: PlanRequest, now: datetime) -> None:
    """Refuses what a request may say in form but not in fact.

    Raises:
        InvalidInput: a time out of range or in the future, or an unknown field of the answer.
    """
    for name in ("as_of", "evaluated_at"):
        moment: datetime | None = getattr(request, name)
        if moment is not None and not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise InvalidInput(f"the year must be from {FIRST_YEAR} to {LAST_YEAR}", pointer=f"/{name}")
    if request.as_of is not None and request.as_of > now:
        raise InvalidInput("as_of lies in the future: no price is known for it", pointer="/as_of")
    for index, name in enumerate(request.fields or ()):
        if name not in PLAN_FIELDS:
            raise InvalidInput("the answer has no such field", pointer=f"/fields/{index}", allowed=PLAN_FIELDS)


def make_plan(
    request: PlanRequest,
    market: Market,
    *,
    now: datetime,
    pools: Mapping[str, OnPremPool],
    default_sensitivity: DataSensitivity,
) -> Plan:
    """The plan on a market that is given. Without `evaluated_at` it is now, cut to the minute.

    Raises:
        UnknownModel, UnknownGpu, InvalidInput: the request cannot be computed; the pointer says where.
    """
    moment = _evaluated_at(request, now)
    return solve(request, market, evaluated_at=moment, pools=pools, default_sensitivity=default_sensitivity)


def market_as_of(
    engine: "Engine",
    request: PlanRequest,
    as_of: datetime,
    *,
    now: datetime,
    known: Mapping[str, "FeedSetting"],
    calibration: Calibration = UNCALIBRATED,
) -> "PastMarket":
    """The market and the pools that a request with this `as_of` is answered from.

    Raises:
        InvalidInput: there was no price yet.
    """
    from service.flows.as_of import load_market_at

    moment = _evaluated_at(request, now)
    past = load_market_at(engine, utc(as_of), known, evaluated_at=moment, calibration=calibration)
    if past is None or past.market.offers == 0:
        raise InvalidInput("no price is stored for this instant", pointer="/as_of")
    return past


def _evaluated_at(request: PlanRequest, now: datetime) -> datetime:
    return utc(request.evaluated_at or now.replace(second=0, microsecond=0))
