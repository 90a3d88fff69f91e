"""RunPod's other ways to sell a card: savings plans paid for a whole term, and Instant Clusters joined by InfiniBand.

Source: oneMonthPrice, threeMonthPrice, sixMonthPrice and clusterPrice of the GraphQL schema, dollars per hour for ONE GPU,
often null. A plan is for a pod of the secure cloud and is paid in advance for its whole term, so every hour of it costs;
a cluster is 2 to 8 machines of 8 GPUs each, and its price stands for one of these machines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from providers.base import Json, Refused
from providers.offer import NO_PRICE, OUT_OF_SCOPE, Availability, CapacityType, Fabric, Offer
from providers.prices import price
from providers.runpod.market import Listing, Stock, offers_of
from providers.units import HOURS_PER_MONTH

CLUSTER_TIER = "cluster"
CLUSTER_WIDTH = 8
CLUSTER_LEAST_MACHINES = 2
PLANS = {"oneMonthPrice": 1, "threeMonthPrice": 3, "sixMonthPrice": 6}  # field: months
NOTE_CLUSTER = "Instant Cluster: 2 to 8 machines of 8 GPUs each; the price is for one of them"


def plan_offers(
    listing: Listing,
    *,
    usd_per_gpu_hour: Json,
    months: int,
    attestations: dict[str, frozenset[str]],
    observed_at: datetime,
    source: str,
) -> Iterator[Offer]:
    """The card's pods of the secure cloud at the plan's price, wherever they can be had today.

    Raises:
        Refused: the card is not sold there, or the plan is no cheaper than on demand.
    """
    plan = price(usd_per_gpu_hour)
    if listing.usd_per_gpu_hour and plan >= price(listing.usd_per_gpu_hour):
        raise Refused(NO_PRICE, "a plan that saves nothing")
    stock = [replace(one, bid=None, quote=None) for one in listing.stock]
    at_plan = replace(listing, usd_per_gpu_hour=usd_per_gpu_hour, stock=stock)
    for one in offers_of(at_plan, attestations=attestations, observed_at=observed_at, source=source):
        whole_term = one.usd_per_hour * months * HOURS_PER_MONTH
        yield replace(
            one,
            capacity_type=CapacityType.RESERVED,
            term_months=float(months),
            upfront_usd=Decimal(0),  # the whole term is paid first, but it is the hours that cost
            notes=(f"savings plan: {whole_term:.2f} USD for {months} months are paid in advance, used or not",),
        )


def cluster_offer(listing: Listing, *, usd_per_gpu_hour: Json, observed_at: datetime, source: str) -> Iterator[Offer]:
    """One machine of a cluster of this card. Raises Refused where the card does not come by eight."""
    if listing.max_count < CLUSTER_WIDTH:
        raise Refused(OUT_OF_SCOPE, "a cluster's machines have 8 GPUs and this card does not come by eight")
    stock: Sequence[Stock] = [Stock(count=CLUSTER_WIDTH, availability=Availability.UNKNOWN)]
    alone = replace(listing, usd_per_gpu_hour=usd_per_gpu_hour, stock=stock)
    for one in offers_of(alone, attestations={}, observed_at=observed_at, source=source):
        if one.gpu_count == CLUSTER_WIDTH:
            yield replace(
                one, tier=CLUSTER_TIER, fabric=Fabric.INFINIBAND, min_machines=CLUSTER_LEAST_MACHINES, notes=(NOTE_CLUSTER,)
            )
