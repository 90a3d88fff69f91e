"""Pricing: the cost inputs of groups or rows gathered from the market, and what one request says of every run."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from providers.units import HOURS_PER_MONTH
from service.domain.estimate import Assumption
from service.domain.request import PlanRequest
from service.domain.workload import CheckpointSpec, CheckpointSupport, Task
from service.solver.columns import Bools, Floats, Ints
from service.solver.cost import JobTerms, Machines
from service.solver.shape import Shapes
from service.solver.tables import GroupTable
from service.solver.transfer import Transfer
from service.solver.work import Work

SETUP_MINUTES: Final = 10.0
RESTART_MINUTES: Final = 10.0
STALL_MINUTES: Final = 2.0
_MINUTES: Final = 60.0


@dataclass(frozen=True, eq=False)
class Pricing:
    """What prices any group or row of one request."""

    groups: GroupTable
    shapes: Shapes
    work: Work
    job: JobTerms
    transfer: Transfer
    disk_gb: float | None
    use_medians: bool  # beyond one run, spot and marketplace totals stand on the 30-day median

    def machines(self, at: Ints, usd_per_hour: Floats, side: str = "mid") -> Machines:
        """Inputs of the groups `at` at these prices of one machine; `side` low or high for the range of hours."""
        groups, shapes, kind = self.groups, self.shapes, self.groups.kind[at]
        price = usd_per_hour
        if self.use_medians:
            median = groups.median_usd_per_gpu_hour[at] * groups.kinds.gpu_count[kind]
            price = np.where(np.isnan(median), price, median)
        count = {"low": shapes.machines_low, "mid": shapes.machines, "high": shapes.machines_high}[side][kind]
        hours = getattr(shapes, side)[kind]
        return Machines(
            usd_per_hour=price,
            machines=count,
            hours=hours,
            hours_between_stops=groups.hours_between_stops[at],
            increment_seconds=groups.money["billing_increment_seconds"][at],
            disk_gb_beyond=self._disk_beyond(at),
            storage_usd_per_gb_month=groups.money["storage_usd_per_gb_month"][at],
            transfer_usd=self.transfer.usd_per_run[groups.seller[at]],
            commitment_usd_per_run=self._commitment(at, price, hours),
        )

    def on_median(self, at: Ints) -> Bools:
        """Where the 30-day median stands in for the row's own price."""
        if not self.use_medians:
            return np.zeros(len(at), dtype=np.bool_)
        return ~np.isnan(self.groups.median_usd_per_gpu_hour[at])

    def upfront(self, at: Ints, machines: Machines) -> Floats:
        """The part of the commitment that does not follow the price per hour, per run."""
        return self._commitment(at, np.zeros(len(at)), machines.hours) * machines.machines

    def disk_usd_per_hour(self, at: Ints) -> Floats:
        """USD per hour and machine for the disk asked for beyond what the price holds."""
        rate = np.nan_to_num(self.groups.money["storage_usd_per_gb_month"][at])
        return np.asarray(rate * self._disk_beyond(at) / HOURS_PER_MONTH, dtype=np.float64)

    def _disk_beyond(self, at: Ints) -> Floats:
        if self.disk_gb is None:
            return np.zeros(len(at))
        return np.maximum(0.0, self.disk_gb - np.nan_to_num(self.groups.money["disk_included_gb"][at]))

    def _commitment(self, at: Ints, price: Floats, hours: Floats) -> Floats:
        """Per run and machine: the upfront fee, and the committed hours that the work does not use."""
        cost = np.zeros(len(at))
        terms = self.groups.terms_all
        reserved = [i for i, term in enumerate(terms) if term.capacity_type == "reserved"]
        if not reserved:
            return cost
        for i in np.flatnonzero(np.isin(self.groups.terms[at], reserved)).tolist():
            months = terms[int(self.groups.terms[at[i]])].term_months or np.nan
            used = float(hours[i]) + self.job.setup_hours
            upfront = float(np.nan_to_num(self.groups.money["upfront_usd"][at[i]]))
            cost[i] = _commitment_usd_per_run(
                usd_per_hour=float(price[i]), upfront_usd=upfront, term_months=months, hours_per_run=used, work=self.work
            )
        return cost


def _commitment_usd_per_run(
    *, usd_per_hour: float, upfront_usd: float, term_months: float, hours_per_run: float, work: Work
) -> float:
    """Unused hours are waste: a commitment bills every hour of its term, used or not."""
    if work.runs is not None:
        term_hours = term_months * HOURS_PER_MONTH
        used = hours_per_run * work.runs
        terms = max(1.0, np.ceil(used / term_hours - 1e-9))
        return float(((terms * term_hours - used) * usd_per_hour + terms * upfront_usd) / work.runs)
    runs = work.runs_each_month
    used = hours_per_run * runs
    held = max(1.0, np.ceil(used / HOURS_PER_MONTH - 1e-9))
    return float(((held * HOURS_PER_MONTH - used) * usd_per_hour + held * upfront_usd / term_months) / runs)


def job_terms(request: PlanRequest, work: Work) -> tuple[JobTerms, list[Assumption]]:
    """Set-up, restart and checkpoint times of a run, with the defaults listed."""
    given = request.workload.checkpoint or CheckpointSpec()
    is_service = work.task is Task.INFER
    resumes = given.supported is CheckpointSupport.YES
    assumed = [Assumption(name="setup_minutes", value=SETUP_MINUTES, unit="min", source="estimate", low=2.0, high=30.0)]
    restart, stall = given.restart_minutes, given.stall_minutes
    if restart is None:
        restart = RESTART_MINUTES
        assumed.append(
            Assumption(name="checkpoint.restart_minutes", value=restart, unit="min", source="estimate", low=3.0, high=30.0)
        )
    if resumes and stall is None:
        assumed.append(
            Assumption(name="checkpoint.stall_minutes", value=STALL_MINUTES, unit="min", source="estimate", low=0.1, high=10.0)
        )
    if given.supported is CheckpointSupport.UNKNOWN and not is_service:
        assumed.append(Assumption(name="checkpoint.supported", value="unknown", source="costed as no: a run starts from zero"))
    return JobTerms(
        setup_hours=0.0 if is_service else SETUP_MINUTES / _MINUTES,
        restart_hours=restart / _MINUTES,
        stall_hours=(STALL_MINUTES if stall is None else stall) / _MINUTES,
        interval_hours=None if given.interval_minutes is None else given.interval_minutes / _MINUTES,
        resumes=resumes,
        is_service=is_service,
        runs_at_once_per_month=work.runs_per_month or 0.0,
    ), assumed
