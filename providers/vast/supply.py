"""How many GPUs a market of overlapping offers really holds: a machine offered as one, two and four GPUs has four."""

from collections.abc import Iterable
from dataclasses import dataclass

from providers.offer import CapacityType, Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """What can be rented at once, each machine counted by its largest offer."""

    offers: int
    machines: int
    gpus: float

    @property
    def sentence(self) -> str:
        """In words, for the notes of a batch."""
        return f"{self.offers} on-demand offers overlap on {self.machines} machines: {self.gpus:g} GPUs in all, each counted once"


def supply_of(offers: Iterable[Offer]) -> Supply:
    """The supply behind on-demand offers; spot and prepaid ones are other ways to buy the same machines."""
    largest: dict[str, float] = {}
    count = 0
    for offer in offers:
        if offer.capacity_type is CapacityType.ON_DEMAND and offer.machine_id is not None:
            count += 1
            largest[offer.machine_id] = max(offer.gpu_count, largest.get(offer.machine_id, 0.0))
    return Supply(offers=count, machines=len(largest), gpus=sum(largest.values()))
