"""Adapters broken on purpose: each rule of the contract is shown to catch the fault that it is there for."""

import itertools
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import pytest

from providers.base import Adapter, collect, rows_at
from providers.errors import ProviderPayloadInvalid
from providers.offer import CapacityType, Offer, Tenancy
from providers.prices import price
from tests.contract.rules import (
    NOW,
    assert_valid,
    no_field_is_missed_in_silence,
    numbers_that_are_none_make_no_price,
    repeated_rows_add_nothing,
    same_twice,
    unknown_fields_are_ignored,
)

PAYLOAD = {"rows": [{"name": "small", "gpu": "L4", "usd": 0.4}, {"name": "big", "gpu": "H100 SXM", "usd": Decimal("2.5")}]}
CARDS = {"L4": ("L4", 24), "H100 SXM": ("H100-SXM", 80)}
CALLS = itertools.count()


@dataclass(frozen=True, slots=True)
class Sound(Adapter):
    """Keeps the contract; the broken ones change one step of it."""

    name: ClassVar[str] = "sound"

    def fetch(self, http):
        return PAYLOAD

    def parse(self, payload, observed_at):
        return collect(rows_at(self.name, payload, "rows"), lambda row: [self.offer(row, observed_at)])

    def usd(self, row):
        return price(row["usd"])

    def offer(self, row, observed_at):
        gpu, memory_gb = CARDS[row["gpu"]]
        return Offer(
            feed=self.name,
            provider=self.name,
            tier="only",
            instance_type=row["name"],
            gpu=gpu,
            gpu_count=1,
            gpu_memory_gb=memory_gb,
            capacity_type=CapacityType.ON_DEMAND,
            tenancy=Tenancy.PROVIDER_DATACENTER,
            usd_per_hour=self.usd(row),
            observed_at=observed_at,
            source="nowhere",
        )


class TakesNoPriceForZero(Sound):
    def usd(self, row):
        return Decimal(str(row.get("usd", 0)))


class PassesNanOn(Sound):
    def usd(self, row):
        return Decimal(str(row["usd"]))


class DropsRowsInSilence(Sound):
    def parse(self, payload, observed_at):
        rows = [(name, row) for name, row in rows_at(self.name, payload, "rows") if "usd" in row and "gpu" in row]
        return collect(rows, lambda row: [self.offer(row, observed_at)])


class Crashes(Sound):
    def parse(self, payload, observed_at):
        return collect([(row["name"], row) for row in payload["rows"]], lambda row: [self.offer(row, observed_at)])


class RefusesNewFields(Sound):
    def offer(self, row, observed_at):
        if row.keys() - {"name", "gpu", "usd"}:
            raise ValueError("a field that is not known")
        return Sound.offer(self, row, observed_at)


class GivesRowsTwice(Sound):
    def parse(self, payload, observed_at):
        batch = Sound.parse(self, payload, observed_at)
        rows = [self.offer(row, observed_at) for row in payload["rows"]]
        return type(batch)(offers=tuple(rows))


class CountsItsCalls(Sound):
    def usd(self, row):
        return Sound.usd(self, row) + next(CALLS)


class ChangesItsInput(Sound):
    def parse(self, payload, observed_at):
        batch = Sound.parse(self, payload, observed_at)
        payload["rows"].reverse()
        return batch


def missed(adapter):
    no_field_is_missed_in_silence(adapter, PAYLOAD, envelope=0, optional=frozenset(), named=frozenset())


RULES = {
    "twice": lambda adapter: same_twice(adapter, PAYLOAD),
    "gone": missed,
    "new": lambda adapter: unknown_fields_are_ignored(adapter, PAYLOAD, envelope=0),
    "nan": lambda adapter: numbers_that_are_none_make_no_price(adapter, PAYLOAD, envelope=0),
    "repeated": lambda adapter: repeated_rows_add_nothing(adapter, PAYLOAD, envelope=0),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_sound_adapter_passes_every_rule(rule):
    RULES[rule](Sound())


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (TakesNoPriceForZero, "gone"),
        (DropsRowsInSilence, "gone"),
        (Crashes, "gone"),
        (PassesNanOn, "nan"),
        (TakesNoPriceForZero, "nan"),
        (RefusesNewFields, "new"),
        (GivesRowsTwice, "repeated"),
        (CountsItsCalls, "twice"),
        (ChangesItsInput, "twice"),
    ],
)
def test_a_broken_adapter_is_caught(broken, rule):
    with pytest.raises(AssertionError):
        RULES[rule](broken())


def test_the_sound_adapter_itself_is_one():
    batch = Sound().parse(PAYLOAD, NOW)
    assert [str(o.usd_per_hour) for o in batch.offers] == ["0.4", "2.5"]
    assert_valid(batch, feed="sound")
    with pytest.raises(ProviderPayloadInvalid):
        Sound().parse({}, NOW)
