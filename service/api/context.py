"""Context: what the operations of the REST doors read; made once by service.main and never changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Engine
from starlette.requests import Request

from service.api.access import Access
from service.api.problems import Refusal
from service.chat.doors import ChatDoors
from service.domain.request import DataSensitivity, OnPremPool
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.flows.model_lookup import ModelLookup
from service.flows.status import FeedSetting
from service.metrics import Metrics
from service.solver.market import FeedStatus, Market


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts that the doors are built on."""

    clock: Callable[[], datetime]
    market: Callable[[], Market | None]  # the newest snapshot in memory
    engine: Engine
    metrics: Metrics
    known: Mapping[str, FeedSetting] = field(default_factory=dict)  # every registered adapter as the settings have it
    statuses: Callable[[], Sequence[FeedStatus]] = tuple  # every adapter, as it is now
    poll: Callable[[], object] = bool  # takes in what was just written
    pools: Callable[[], Mapping[str, OnPremPool]] = dict  # stored own hardware, by name
    default_sensitivity: DataSensitivity = DataSensitivity.INTERNAL
    calibration: Calibration = UNCALIBRATED  # the user's own factors on our estimates
    models: ModelLookup | None = None  # reads configurations of repositories, where a setting allows the network
    access: Access = field(default_factory=Access)  # who may ask
    request_seconds: float = 30.0  # how long an operation may take
    body_seconds: float = 15.0  # how long a body may take to arrive
    chat: ChatDoors | None = None  # answers lines of text, and holds the platforms whose secret is set

    def require_market(self) -> Market:
        """The newest snapshot. Raises Refusal (503) when there is no price at all."""
        market = self.market()
        if market is None or market.offers == 0:
            raise Refusal("no-prices", headers={"Retry-After": "30"})
        return market

    def require_chat(self) -> ChatDoors:
        """The doors of chat. Raises Refusal (503) where the application was made without them."""
        if self.chat is None:
            raise Refusal("unavailable", "Chat is not set up")
        return self.chat


def context_of(request: Request) -> Context:
    """The context of the application that answers this request."""
    context: Context = request.app.state.context
    return context
