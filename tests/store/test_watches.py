"""Watches: told once per crossing, on both databases, tried again with growing waits, given up after a day, visibly."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest

from providers.errors import InvalidInput, UnknownGpu
from providers.gpus import GPUS
from providers.offer import Availability, CapacityType, Offer, Tenancy
from service.domain.request import PlanRequest
from service.domain.watch import PriceCondition
from service.flows.watches import (
    Target,
    UndeliverableAlarm,
    UnknownWatch,
    check_watches,
    deliver_alarms,
    forget_watch,
    keep_watch,
    watches,
)
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.store.engine import writing
from service.store.watches import claim_due, note_state

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
HOOK = Target(kind="webhook", place="https://alarms.example/path?key=hidden", secret="s3")
UNDER_2 = PriceCondition(gpu="H100", max_usd_per_gpu_hour=2.0)


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


class Post:
    """Takes alarms, or refuses while `is_down`."""

    def __init__(self):
        self.taken, self.is_down, self.tries = [], False, 0

    def send(self, target, delivery_id, text, event):
        self.tries += 1
        if self.is_down:
            raise UndeliverableAlarm("status 503")
        self.taken.append((target, delivery_id, text, event))


def no_plan(request, market):
    raise AssertionError("a price needs no plan")


def offer_of(gpu="H100-SXM", usd_per_hour="4", **changes):
    plain = {
        "feed": "lambda", "provider": "lambda", "tier": "on-demand", "instance_type": "box", "gpu_count": 1.0,
        "capacity_type": CapacityType.ON_DEMAND, "tenancy": Tenancy.PROVIDER_DATACENTER, "region": "us-east-1", "country": "US",
        "availability": Availability.AVAILABLE, "observed_at": NOW, "source": "a price page",
        "gpu_memory_gb": GPUS[gpu].memory_gb, "form_factor": GPUS[gpu].form_factor,
    }  # fmt: skip
    return Offer(gpu=gpu, usd_per_hour=Decimal(usd_per_hour), **{**plain, **changes})


def market_of(*offers):
    status = FeedStatus(name="lambda", last_success_at=NOW, offers=len(offers))
    return Market.build({"lambda": columns_of(offers)}, [status], snapshot_id="s", as_of=NOW)


def at_price(usd):
    return market_of(offer_of(usd_per_hour=usd), offer_of(gpu="A10", usd_per_hour="0.50"))


def keep(engine, market, condition=UNDER_2, owner="a"):
    return keep_watch(engine, condition, owner=owner, target=HOOK, market=market, plan=no_plan, now=NOW)


def check(engine, market):
    return check_watches(engine, market, no_plan, now=NOW)


def test_each_crossing_is_told_once(engine):
    post = Post()
    made = keep(engine, at_price("2.50"))
    assert made.state == "unmet"
    told = []
    for usd in ("2.10", "2.00", "1.90", "1.80", "2.20", "1.70"):  # down at 2.00, up at 2.20, down again at 1.70
        check(engine, at_price(usd))
        told.append(deliver_alarms(engine, post, lambda: NOW))
    assert told == [0, 1, 0, 0, 0, 1]
    assert "$2.00 per hour" in post.taken[0][2]
    assert post.taken[0][3]["watch_id"] == made.watch_id


def test_two_processes_that_look_at_once_tell_once(engine):
    keep(engine, at_price("2.50"))
    cheap = at_price("1.90")
    assert check(engine, cheap) + check(engine, cheap) == 1


def test_what_is_met_already_is_no_crossing(engine):
    assert keep(engine, at_price("1.90")).state == "met"
    assert check(engine, at_price("1.80")) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"availability": Availability.UNAVAILABLE},
        {"is_dated": True},
        {"country": "US"},
        {"capacity_type": CapacityType.ON_DEMAND},
        {"provider": "vast"},
        {"gpu_count": 2.0, "usd_per_hour": "3.00"},
    ],
)
def test_only_a_live_offer_that_meets_every_part_counts(engine, changes):
    good = {"usd_per_hour": "1.50", "country": "DE", "region": "europe-central-1", "capacity_type": CapacityType.SPOT}
    condition = PriceCondition(
        gpu="H100 SXM", gpu_count=1, max_usd_per_gpu_hour=2.0, residency=("EU",), capacity_types=(CapacityType.SPOT,),
        providers=("lambda",),
    )  # fmt: skip
    assert keep(engine, market_of(offer_of(**good)), condition).state == "met"
    assert keep(engine, market_of(offer_of(**{**good, **changes})), condition).state == "unmet"


def test_a_webhook_that_is_down_is_tried_ever_later_and_given_up_after_a_day(engine):
    post, clock = Post(), Clock()
    post.is_down = True
    keep(engine, at_price("2.50"))
    check(engine, at_price("1.90"))
    waits = []
    while True:
        deliver_alarms(engine, post, clock)
        (delivery,) = watches(engine, "a")[0].deliveries
        if delivery.status == "given_up":
            break
        waits.append(delivery.next_attempt_at - clock.now)
        clock.now = delivery.next_attempt_at
    assert [wait.total_seconds() for wait in waits[:4]] == [30, 60, 120, 240]
    assert max(waits) == timedelta(hours=2)
    assert timedelta(hours=21) < clock.now - NOW <= timedelta(days=1)
    assert (delivery.error, delivery.attempts) == ("status 503", post.tries)
    post.is_down = False
    clock.now += timedelta(days=1)
    assert deliver_alarms(engine, post, clock) == 0


def test_a_webhook_that_comes_back_gets_the_same_alarm_once(engine):
    post, clock = Post(), Clock()
    post.is_down = True
    keep(engine, at_price("2.50"))
    check(engine, at_price("1.90"))
    deliver_alarms(engine, post, clock)
    post.is_down = False
    assert deliver_alarms(engine, post, clock) == 0  # its time has not come
    clock.now += timedelta(seconds=30)
    assert deliver_alarms(engine, post, clock) == 1
    assert deliver_alarms(engine, post, clock) == 0
    (delivery,) = watches(engine, "a")[0].deliveries
    assert (delivery.status, delivery.attempts, delivery.delivered_at) == ("delivered", 2, clock.now)


def test_a_watch_belongs_to_its_owner_and_hides_its_address(engine):
    made = keep(engine, at_price("2.50"))
    assert watches(engine, "b") == ()
    (found,) = watches(engine, "a")
    assert (found.watch_id, found.target, found.secret) == (made.watch_id, "https://alarms.example", None)
    with pytest.raises(UnknownWatch):
        forget_watch(engine, made.watch_id, "b")
    forget_watch(engine, made.watch_id, "a")
    assert watches(engine, "a") == ()


def test_a_card_that_is_not_known_is_refused(engine):
    with pytest.raises(UnknownGpu):
        keep(engine, at_price("2.50"), PriceCondition(gpu="nonesuch", max_usd_per_gpu_hour=1.0))


def test_a_hundred_watches_are_the_most(engine):
    market = at_price("2.50")
    for _ in range(100):
        keep(engine, market)
    with pytest.raises(InvalidInput, match="100"):
        keep(engine, market)
    keep(engine, market, owner="b")


def test_of_two_processes_that_saw_the_same_state_one_is_first(engine):
    made = keep(engine, at_price("2.50"))
    with writing(engine) as connection:
        said = {"before": "unmet", "after": "met", "now": NOW, "alarm": ("words", {})}
        assert note_state(connection, made.watch_id, **said) is True
        assert note_state(connection, made.watch_id, **said) is False
    assert len(watches(engine, "a")[0].deliveries) == 1


def test_an_alarm_is_claimed_by_one_process_at_a_time(engine):
    keep(engine, at_price("2.50"))
    check(engine, at_price("1.90"))
    with writing(engine) as connection:
        assert len(claim_due(connection, now=NOW, most=9)) == 1
        assert claim_due(connection, now=NOW, most=9) == []
        assert len(claim_due(connection, now=NOW + timedelta(minutes=2), most=9)) == 1  # the claimer died


def test_a_verdict_that_flips_is_told_each_time(engine):
    request = PlanRequest.model_validate_json('{"workload": {"model": "gpt2", "tokens": 1e9}}')
    verdicts = iter(["cloud", "cloud", "on_prem", "on_prem", "cloud"])

    def plan(asked, market):
        assert asked == request
        return SimpleNamespace(decision=SimpleNamespace(verdict=next(verdicts), sentence="because"))

    market = at_price("2")
    keep_watch(engine, request, owner="a", target=HOOK, market=market, plan=plan, now=NOW)
    assert [check_watches(engine, market, plan, now=NOW) for _ in range(4)] == [0, 1, 0, 1]
    assert watches(engine, "a")[0].kind == "verdict"
