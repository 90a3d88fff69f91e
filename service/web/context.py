"""What the pages read; made once by service.main and never changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Engine
from starlette.requests import Request

from service.domain.request import DataSensitivity, OnPremPool
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.flows.status import FeedSetting
from service.solver.market import FeedStatus, Market
from service.web.refusals import PageRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """The parts that the pages are built on."""

    clock: Callable[[], datetime]
    market: Callable[[], Market | None]
    engine: Engine
    known: Mapping[str, FeedSetting] = field(default_factory=dict)
    statuses: Callable[[], Sequence[FeedStatus]] = tuple
    pools: Callable[[], Mapping[str, OnPremPool]] = dict
    default_sensitivity: DataSensitivity = DataSensitivity.INTERNAL
    calibration: Calibration = UNCALIBRATED

    def require_market(self) -> Market:
        """The newest snapshot. Raises PageRefusal (503) when there is no price at all."""
        market = self.market()
        if market is None or market.offers == 0:
            raise PageRefusal(
                503,
                "There is no price yet",
                "No provider has been read and no reference prices are loaded. See which providers are on, and read one of them.",
                link=("/ui/providers", "Providers"),
            )
        return market


def context_of(request: Request) -> WebContext:
    """The context of the application that answers this request."""
    context: WebContext = request.app.state.web
    return context
