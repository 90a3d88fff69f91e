"""Statuses: what the stored states of a feed and its settings come to, in one word at one moment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from service.settings import Settings, build_adapters, interval_seconds, is_enabled
from service.solver.market import FeedStatus

if TYPE_CHECKING:
    from providers.base import Adapter

DATED_FEEDS = frozenset({"reference", "price_file", "colab", "kaggle"})  # judged by the date of each row, not by the last reading


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSetting:
    """What the settings say of one adapter."""

    name: str
    enabled: bool
    lacks_key: bool
    interval_seconds: int


def feed_settings(settings: Settings) -> dict[str, FeedSetting]:
    """Every registered adapter, the disabled ones too."""
    return {adapter.name: _setting(settings, adapter) for adapter in build_adapters(settings, all_registered=True)}


def _setting(settings: Settings, adapter: "Adapter") -> FeedSetting:
    return FeedSetting(
        name=adapter.name,
        enabled=is_enabled(settings, adapter),
        lacks_key=adapter.missing_credentials() is not None,
        interval_seconds=interval_seconds(settings, adapter),
    )


def disabled_feeds(settings: Settings) -> frozenset[str]:
    """Feeds that the settings alone rule out, without looking at the adapters: for a cold command."""
    named = {info.alias or name for name, info in type(settings.providers).model_fields.items()}
    ruled_out = {name for name in named if settings.providers.of(name).enabled is False}
    has_file = settings.providers.price_file.path is not None or settings.providers.price_file.enabled
    return frozenset(ruled_out if has_file else ruled_out | {"price_file"})


def statuses_of(
    states: Iterable[Mapping[str, Any]], known: Mapping[str, FeedSetting], *, now: datetime
) -> tuple[FeedStatus, ...]:
    """One status per feed that is registered or stored, in order of name; `state` is true at `now`."""
    by_feed: dict[str, list[Mapping[str, Any]]] = {name: [] for name in known}
    for state in states:
        by_feed.setdefault(state["feed"], []).append(state)
    found = (_status(name, rows, known.get(name)) for name, rows in sorted(by_feed.items()))
    return tuple(replace(status, state=_word(status, now)) for status in found)


def _status(name: str, rows: Iterable[Mapping[str, Any]], setting: FeedSetting | None) -> FeedStatus:
    by_scope = {row["scope"]: row for row in rows}
    whole = by_scope.pop("", {})
    seen = {scope: row["last_seen_at"] for scope, row in by_scope.items() if row["last_seen_at"] is not None}
    return FeedStatus(
        name=name,
        enabled=True if setting is None else setting.enabled,
        needs_key=False if setting is None else setting.lacks_key,
        state=_outcome_word(whole, by_scope),
        last_success_at=whole.get("last_success_at"),
        last_attempt_at=whole.get("last_attempt_at"),
        interval_seconds=setting.interval_seconds if setting else whole.get("interval_seconds", 300),
        error=whole.get("error"),
        offers=whole.get("offers", 0),
        rejected=sum(whole.get("rejected", {}).values()),
        truncated=whole.get("is_truncated", False),
        scopes=seen,
    )


def _outcome_word(whole: Mapping[str, Any], scopes: Mapping[str, Mapping[str, Any]]) -> str:
    outcome = whole.get("outcome", "never")
    if outcome in ("failed", "never"):
        return "failing" if outcome == "failed" else "never"
    is_whole = outcome != "refused" and not whole["is_truncated"] and all(row["outcome"] != "failed" for row in scopes.values())
    return "ok" if is_whole else "degraded"


def _word(status: FeedStatus, now: datetime) -> str:
    if not status.enabled:
        return "disabled"
    if status.needs_key:
        return "needs_key"
    if status.last_success_at is not None and status.name not in DATED_FEEDS and status.is_stale(now):
        return "stale"
    return status.state
