"""Where a command's prices come from: a server (GPUPLAN_URL), the local database, or the shipped list when there is none."""

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from service.cli.exits import CommandError, guarded

if TYPE_CHECKING:
    from service.domain.breakeven import Breakeven, BreakevenRequest
    from service.domain.offers import OfferPage
    from service.domain.plan import Plan
    from service.domain.request import PlanRequest
    from service.estimate.calibration import Calibration
    from service.flows.snapshot import Snapshot
    from service.settings import Settings


class OpenMarket(Protocol):
    """What the commands ask of prices, wherever they are."""

    def plan(self, request: "PlanRequest") -> "Plan":
        """The plan of a checked request."""

    def offers(self, query: dict[str, Any]) -> "OfferPage":
        """The first page of the offers that meet a query, by the names of `GET /offers`."""

    def breakeven(self, request: "BreakevenRequest") -> "Breakeven":
        """The breakeven of a checked request."""


def open_market() -> OpenMarket:
    """The market of a server when GPUPLAN_URL names one, else that of this machine."""
    if url := os.environ.get("GPUPLAN_URL"):
        from service.cli.remote import RemoteMarket

        return RemoteMarket(url)
    return LocalMarket()


class LocalMarket:
    """Prices of this machine, read without the database layer: a cold command stays quick and small."""

    def __init__(self) -> None:
        from service.cli.settings import settings_with
        from service.flows.calibration import load_calibration
        from service.flows.snapshot import Snapshot, load_snapshot_cold
        from service.flows.status import disabled_feeds
        from service.store.errors import SchemaOutdated

        self._settings = settings_with()
        self._now = datetime.now(UTC)
        calibration = guarded(lambda: load_calibration(self._settings.calibration_path))
        self._snapshot: Snapshot
        if is_absent(self._settings.database_url):
            self._snapshot = self._under_own_policy(_shipped_prices(self._settings, self._now, calibration))
            return
        try:
            self._snapshot = guarded(
                lambda: load_snapshot_cold(
                    self._settings.database_url,
                    now=self._now,
                    left_out=disabled_feeds(self._settings),
                    calibration=calibration,
                ),
                passing=SchemaOutdated,
            )
        except SchemaOutdated as error:
            raise CommandError(str(error), hint="gpuplan refresh brings the database to this version and reads prices") from error
        self._snapshot = self._under_own_policy(self._snapshot)

    def _under_own_policy(self, snapshot: "Snapshot") -> "Snapshot":
        """The snapshot under the policy that the setting names; without one, under the stored policy."""
        from dataclasses import replace

        from service.flows.standing import load_policy

        if self._settings.policy_path is None:
            return snapshot
        policy = guarded(lambda: load_policy(self._settings.policy_path))
        standing = replace(snapshot.market.standing, policy=policy)
        return replace(snapshot, market=replace(snapshot.market, standing=standing))

    @property
    def snapshot(self) -> "Snapshot":
        """The prices with the pools that belong to them."""
        return self._snapshot

    def plan(self, request: "PlanRequest") -> "Plan":
        """The plan on the stored prices; `as_of` reads them as they were."""
        from service.flows.model_lookup import resolved_once
        from service.flows.plan import check_request, make_plan

        check_request(request, self._now)
        request = resolved_once(request, self._settings.huggingface)
        if request.as_of is not None or request.save is not None:
            return self._with_database(request)
        return make_plan(
            request,
            self._snapshot.market,
            now=self._now,
            pools=self._snapshot.pools,
            default_sensitivity=self._settings.default_sensitivity,
        )

    def breakeven(self, request: "BreakevenRequest") -> "Breakeven":
        """Rent or own on the stored prices and pools."""
        from service.flows.breakeven import make_breakeven

        return make_breakeven(
            request,
            lambda: self._snapshot.market,
            now=self._now,
            pools=self._snapshot.pools,
            default_sensitivity=self._settings.default_sensitivity,
        )

    def _with_database(self, request: "PlanRequest") -> "Plan":
        """The plan on earlier prices, kept, or both."""
        from service.cli.saved import with_database
        from service.flows.plan import make_plan, market_as_of
        from service.flows.saved_plans import save_plan
        from service.flows.status import feed_settings

        default, calibration = self._settings.default_sensitivity, self._snapshot.market.calibration

        def make(engine: Any) -> "Plan":
            market, pools = self._snapshot.market, self._snapshot.pools
            if request.as_of is not None:
                known = feed_settings(self._settings)
                past = market_as_of(engine, request, request.as_of, now=self._now, known=known, calibration=calibration)
                market, pools = past.market, past.pools
            plan = make_plan(request, market, now=self._now, pools=pools, default_sensitivity=default)
            if request.save is not None:
                save_plan(engine, request, plan, market, pools=pools, default_sensitivity=default, now=self._now)
            return plan

        made: Plan = with_database(make)
        return made

    def offers(self, query: dict[str, Any]) -> "OfferPage":
        """The first page of the stored offers that meet the query."""
        from service.domain.offers import OffersQuery
        from service.flows.offers import list_offers

        return list_offers(self._snapshot.market, OffersQuery.model_validate({**query, **_as_text(query)}))


def _as_text(query: dict[str, Any]) -> dict[str, Any]:
    """Figures as a query string writes them: one way of reading them for both doors."""
    return {name: f"{value:.9f}".rstrip("0").rstrip(".") for name, value in query.items() if isinstance(value, float)}


def is_absent(database_url: str) -> bool:
    """True when the database is a file that does not exist yet."""
    from pathlib import Path

    scheme, _, path = database_url.partition("///")
    return scheme.startswith("sqlite") and not Path(path.partition("?")[0]).exists()


def _shipped_prices(settings: "Settings", now: datetime, calibration: "Calibration") -> Any:
    """The dated tables that come with the product, when nothing was ever stored here: what a fresh server answers from."""
    import httpx

    from service.flows.snapshot import Snapshot
    from service.settings import build_adapters
    from service.solver.market import FeedStatus, Market, pack_offers, unpack

    print(
        "No stored prices yet: these are the dated lists shipped with gpuplan. `gpuplan refresh` reads live ones.",
        file=sys.stderr,
    )
    columns, statuses = {}, []
    with httpx.Client() as http:  # the tables are files: nothing is asked of it
        for adapter in build_adapters(settings):
            if adapter.is_shipped:
                batch = adapter.parse(adapter.fetch(http), now)
                columns[adapter.name] = unpack(pack_offers(batch.offers))
                status = FeedStatus(
                    name=adapter.name,
                    last_success_at=now,
                    last_attempt_at=now,
                    interval_seconds=adapter.default_interval_seconds,
                    offers=len(batch.offers),
                    rejected=len(batch.rejected),
                )
                statuses.append(status)
    market = Market.build(columns, statuses, snapshot_id="shipped", as_of=now, calibration=calibration)
    return Snapshot(market=market, pools={})
