"""The command's words for the best of each market."""

from datetime import UTC, datetime
from decimal import Decimal

from providers.gpus import GPUS
from providers.offer import Availability, CapacityType, Offer, Tenancy
from service.cli.plan_view import show_plan
from service.domain.request import PlanRequest
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.solver.solve import solve

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)


def test_each_market_has_a_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    offer = Offer(
        feed="lambda", provider="lambda", tier="on-demand", instance_type="box", gpu="H100-SXM", gpu_count=1.0,
        capacity_type=CapacityType.ON_DEMAND, tenancy=Tenancy.PROVIDER_DATACENTER, usd_per_hour=Decimal(4),
        gpu_memory_gb=GPUS["H100-SXM"].memory_gb, availability=Availability.AVAILABLE, observed_at=NOW, source="a page",
    )  # fmt: skip
    status = FeedStatus(name="lambda", last_success_at=NOW, last_attempt_at=NOW, offers=1)
    market = Market.build({"lambda": columns_of([offer])}, [status], snapshot_id="s", as_of=NOW)
    body = {
        "workload": {"task": "raw", "vram_gib": 20.0, "gpu_hours": 100.0},
        "usage": {"runs": 1.0, "reference_gpu": "H100 SXM"},
        "constraints": {"data_sensitivity": "public"},
    }
    show_plan(solve(PlanRequest.model_validate(body, strict=False), market, evaluated_at=NOW))
    out = " ".join(capsys.readouterr().out.split())
    # 100 h of work and 10 minutes of set-up at 4.00: 400.67
    assert "best of engineer: lambda (on-demand), 1x H100-SXM, 4.00 an hour, 401 USD per run (ssh)" in out
    assert "hobbyist: no offer of this market meets the request: see the exclusions" in out
    assert "enterprise: no offer of this market" in out
