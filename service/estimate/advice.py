"""Settings that would free memory: what changing one setting of a job saves, and the least change that fits a card."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from service.estimate.changes import Change, changes_of
from service.estimate.job import JobShape
from service.estimate.job_memory import job_memory
from service.estimate.parallel import Parallelism

_LEAST_FREED_GIB = 0.1
Ways = tuple[Parallelism, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One changed setting and what it frees of the safe need on the fullest GPU."""

    setting: str
    freed_gib: float
    job: JobShape

    @property
    def sentence(self) -> str:
        """The words of an answer."""
        return f"{self.setting} frees {self.freed_gib:.1f} GiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedNeed:
    """Settings changed together, and the safe need of the fullest GPU then, under the strategy that needs least."""

    settings: tuple[str, ...]
    job: JobShape
    strategy: str
    need_gib: float


@lru_cache(maxsize=2048)
def settings_that_free_most(job: JobShape, way: Parallelism) -> tuple[Saving, ...]:
    """Every setting whose change frees memory for this job, the one that frees most first; micro batches are halved once."""
    need = job_memory(job, way).safe_gib
    savings: dict[str, Saving] = {}
    for change in changes_of(job):
        freed = need - job_memory(change.job, way).safe_gib
        if freed >= _LEAST_FREED_GIB:
            kind = change.setting if change.of in ("technique", "weights") else change.of
            savings.setdefault(kind, Saving(setting=change.setting, freed_gib=freed, job=change.job))
    return tuple(sorted(savings.values(), key=lambda saving: -saving.freed_gib))


def changes_that_fit(job: JobShape, ways: Ways, *, usable_gib: float) -> Sequence[ChangedNeed]:
    """The changes with which the job fits: of one setting, else of two, the one that alters the work least first."""
    single = [one for one in _needs(job, ways) if one.need_gib <= usable_gib]
    return single or [one for one in _needs_of_pairs(job, ways) if one.need_gib <= usable_gib]


@lru_cache(maxsize=512)
def _needs(job: JobShape, ways: Ways) -> tuple[ChangedNeed, ...]:
    return tuple(_need((change.setting,), change.job, ways) for change in changes_of(job))


@lru_cache(maxsize=512)
def _needs_of_pairs(job: JobShape, ways: Ways) -> tuple[ChangedNeed, ...]:
    first = changes_of(job)
    order = list(dict.fromkeys(change.of for change in first))
    pairs: list[tuple[int, Change, Change]] = []
    for one in first:
        for other in changes_of(one.job):
            if other.of in order and order.index(other.of) > order.index(one.of):
                pairs.append((order.index(other.of), one, other))
    pairs.sort(key=lambda pair: pair[0])  # what alters the work more decides
    return tuple(_need((one.setting, other.setting), other.job, ways) for _, one, other in pairs)


def _need(settings: tuple[str, ...], job: JobShape, ways: Ways) -> ChangedNeed:
    least = min(ways, key=lambda way: job_memory(job, way).safe_gib)
    return ChangedNeed(settings=settings, job=job, strategy=least.label, need_gib=job_memory(job, least).safe_gib)
