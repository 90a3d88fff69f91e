"""Reasons why an offer is left out: their order, their words, and the single change that would admit it.

An offer is counted under the first reason that holds, in the order of REASONS.
"""

from typing import Final

PASS: Final = 255

REASONS: Final = (
    "capacity_type",
    "provider",
    "gpu",
    "gpu_count",
    "arch",
    "availability",
    "superseded",
    "expired",
    "price_age",
    "data_sensitivity",
    "regime",
    "isolation",
    "residency",
    "software_unverified",
    "precision",
    "vram",
    "parallelism",
    "too_slow",
    "interruptions",
    "one_host",
    "disk",
    "max_usd_per_hour",
    "max_usd_per_gpu_hour",
    "max_usd_total",
)
CODE: Final = {name: code for code, name in enumerate(REASONS)}
POLICY: Final = frozenset({"data_sensitivity", "regime", "isolation", "residency"})

EXPLAINED: Final = {
    "capacity_type": "its purchase kind was not asked for, or is not rented by the hour",
    "provider": "its provider is not among those asked for",
    "gpu": "its card is not among those asked for",
    "gpu_count": "it has fewer or more GPUs than asked for",
    "arch": "its CPU architecture is not the one asked for, or not known",
    "availability": "its stock is not known to be what was asked for",
    "superseded": "a dated price where a live one of this provider, card and purchase kind exists",
    "expired": "its price was valid until an earlier day",
    "price_age": "its price is older than asked for, or of unknown age",
    "data_sensitivity": "the policy table does not admit this provider tier for the class of the data",
    "regime": "no evidence that this provider tier is bound to the regime",
    "isolation": "its isolation between tenants is weaker than asked for, or not known",
    "residency": "its place is outside the residency asked for, or not known",
    "software_unverified": "the software is not known to run on this card",
    "precision": "the card cannot compute in the number format",
    "vram": "the job does not fit the memory, also on 16 such machines where they can be joined",
    "parallelism": "the work cannot be split over these GPUs",
    "too_slow": "it would not end in time",
    "interruptions": "a run that starts again from zero would hardly ever end between interruptions",
    "one_host": "more than one machine is needed and a marketplace host is only one",
    "disk": "its disk is smaller than asked for",
    "max_usd_per_hour": "its price per hour, all machines and the disk asked for, is over the cap per option",
    "max_usd_per_gpu_hour": "its price per GPU-hour is over the cap per GPU",
    "max_usd_total": "its total is over the cap",
}

WOULD_ADMIT: Final = {
    "capacity_type": "add its kind to constraints.capacity_types",
    "provider": "widen constraints.providers",
    "gpu": "widen constraints.gpus",
    "gpu_count": "widen constraints.min_gpu_count and max_gpu_count",
    "arch": "drop constraints.arch",
    "availability": "lower constraints.min_availability",
    "superseded": None,
    "expired": None,
    "price_age": "raise constraints.max_price_age_hours",
    "data_sensitivity": "evidence or an acceptance that the class asks for, or a lower class",
    "regime": "a signed contract or attestation for this tier, registered as an acceptance",
    "isolation": "lower constraints.min_isolation",
    "residency": "widen constraints.residency",
    "software_unverified": None,
    "precision": "a number format that the card has, such as fp16",
    "vram": "a smaller micro batch, gradient checkpointing, a shorter sequence or fewer bits",
    "parallelism": "leave workload.strategy open",
    "too_slow": "raise constraints.deadline_hours",
    "interruptions": "checkpoint.supported = yes",
    "one_host": None,
    "disk": "a smaller workload.data.disk_gb",
    "max_usd_per_hour": "raise constraints.max_usd_per_hour",
    "max_usd_per_gpu_hour": "raise constraints.max_usd_per_gpu_hour",
    "max_usd_total": "raise constraints.max_usd_total",
}
