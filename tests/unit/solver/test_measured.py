"""Measured use in a plan: allocated use decides, active use alone leaves the decision open."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from providers.errors import InvalidInput
from service.domain.measured import MeasuredUse
from service.domain.request import OnPremPool
from service.solver.standing import Standing

NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)
RAW = {"task": "raw", "vram_gib": 20.0, "gpu_count": 8}
FLAT = {"name": "dc", "gpu": "H100 SXM", "gpus_per_node": 8, "usd_per_gpu_hour": 2.01}


def use(**changes) -> MeasuredUse:
    body = {
        "pool": "dc", "window_start": NOW - timedelta(days=30), "window_end": NOW, "measured_at": NOW - timedelta(hours=1),
        "allocated_fraction": 0.55, "active_fraction": 0.20, "source": "prometheus", **changes,
    }  # fmt: skip
    return MeasuredUse.model_validate(body, strict=False)


@pytest.fixture
def planned(offer, market, plan):
    def made(*measured, pool="dc", on_prem=(FLAT,), pools=None):
        offers = market(offer(usd_per_hour="31.92", gpu_count=8.0))
        stands = replace(offers, standing=Standing(measured={one.pool: one for one in measured}))
        return plan(stands, workload=RAW, usage={"measured_pool": pool}, on_prem=list(on_prem), pools=pools)

    return made


def test_allocated_use_is_the_work_and_active_use_sizes_the_stalls(planned):
    made = planned(use())
    cloud = next(option for option in made.options if option.kind == "cloud")
    own = next(option for option in made.options if option.kind == "on_prem")
    # 8 x 730 x 0.55 x 3.99 = 12,815.88 and 10 minutes of set-up; 8 x 730 x 2.01 = 11,738.40
    assert cloud.cost.usd_per_month == pytest.approx(12_815.88 + 31.92 / 6)
    assert own.cost.usd_per_month == pytest.approx(11_738.40)
    decision = made.decision
    assert (decision.verdict, decision.utilization, decision.use_bounds) == ("on_prem", 0.55, None)
    told = decision.measured
    assert told.stalled_gpu_hours_per_month == pytest.approx((0.55 - 0.20) * 8 * 730)
    assert "a likely input bottleneck" in told.explained  # 0.20 / 0.55 = 36 % busy while held
    assert (told.age_hours, told.stale) == (1.0, False)
    listed = {one.name: one for one in made.assumptions}
    assert listed["measured_pool.dc.allocated"].value == 0.55


def test_active_use_alone_gives_both_bounds(planned):
    decision = planned(use(allocated_fraction=None)).decision
    assert decision.verdict == "depends"
    assert "The decision is open" in decision.sentence
    bounds = decision.use_bounds
    assert (bounds.low_utilization, bounds.high_utilization) == (0.20, 1.0)
    assert (bounds.verdict_at_low, bounds.verdict_at_high) == ("cloud", "on_prem")


@pytest.mark.parametrize(("active", "word"), [(0.36, "a likely input bottleneck"), (0.44, "fair"), (0.52, "healthy")])
def test_how_busy_engines_are_while_jobs_hold_them(planned, active, word):
    # of 0.55: 65 %, 80 %, 95 %
    assert word in planned(use(active_fraction=active)).decision.measured.explained


def test_an_old_value_is_used_with_its_age_and_a_warning(planned):
    told = planned(use(measured_at=NOW - timedelta(days=3))).decision.measured
    assert told.stale
    assert "3 days ago" in told.explained
    assert "it could not be measured since" in told.explained


def test_a_pool_that_was_never_measured_is_refused_with_those_that_were(planned):
    with pytest.raises(InvalidInput) as refused:
        planned(use(pool="other"))
    assert (refused.value.pointer, refused.value.allowed) == ("/usage/measured_pool", ("other",))


def test_a_pool_that_did_nothing_is_refused(planned):
    with pytest.raises(InvalidInput, match="did nothing"):
        planned(use(allocated_fraction=0.0, active_fraction=0.0))


def test_the_stored_pool_of_the_measurement_is_the_card_that_the_share_refers_to(planned):
    made = planned(use(), on_prem=(), pools={"dc": OnPremPool.model_validate(FLAT)})
    cloud = made.options[0]
    assert cloud.cost.usd_per_month == pytest.approx(12_815.88 + 31.92 / 6)
    assert made.decision.measured.stalled_gpu_hours_per_month == pytest.approx(0.35 * 8 * 730)


@pytest.mark.parametrize(
    "changes",
    [
        {"allocated_fraction": None, "active_fraction": None},
        {"allocated_fraction": 1.2},
        {"window_end": NOW - timedelta(days=40)},
    ],
)
def test_what_is_no_measurement_is_refused(changes):
    with pytest.raises(ValueError, match=r"active share|less than or equal|before it begins"):
        use(**changes)
