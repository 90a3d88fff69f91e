"""Pricing: the hours of a request on every pace, and what else a group or row costs beside its price."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from providers.units import HOURS_PER_MONTH
from service.domain.estimate import Assumption
from service.domain.request import PlanRequest
from service.domain.workload import CheckpointSpec, CheckpointSupport, Task
from service.solver.columns import Bools, Floats, Ints
from service.solver.commitment import commitment_usd_per_run
from service.solver.cost import Extras, Hours, JobTerms, hours_of
from service.solver.shape import Shapes
from service.solver.tables import GroupTable
from service.solver.transfer import Transfer
from service.solver.work import Work

SETUP_MINUTES: Final = 10.0
RESTART_MINUTES: Final = 10.0
STALL_MINUTES: Final = 2.0
MOVING_PRICE: Final = (0.8, 1.3)  # of today's price: the range stated where no month of history is at hand
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
    ranges_prices: bool  # beyond one run: spot and marketplace prices move, so a median or a range is stated

    @property
    def use_medians(self) -> bool:
        """Beyond one run, spot and marketplace totals stand on the 30-day median where there is one."""
        return self.ranges_prices and self.groups.has_medians

    @cached_property
    def range(self) -> Hours:
        """Hours of a run on every pace: low, mid and high."""
        shapes, kind = self.shapes, self.groups.paces.kind
        useful = np.stack((shapes.low, shapes.mid, shapes.high))[:, kind]
        machines = np.stack((shapes.machines_low, shapes.machines, shapes.machines_high))[:, kind]
        return hours_of(self.groups.paces, useful, machines, self.job)

    @cached_property
    def low(self) -> Hours:
        """Hours at the fast end of the range."""
        return self.range.side(0)

    @cached_property
    def mid(self) -> Hours:
        """Expected hours: what totals and order stand on."""
        return self.range.side(1)

    @cached_property
    def high(self) -> Hours:
        """Hours at the slow end of the range."""
        return self.range.side(2)

    @cached_property
    def billed_machine_hours(self) -> Floats:
        """Per pace, what one run multiplies a machine's price by."""
        return self.mid.billed * self.mid.machines

    @property
    def has_extras(self) -> bool:
        """Something beside the machine's price may cost: disk, traffic or a commitment."""
        return self.disk_gb is not None or self.transfer.any_known or len(self.groups.reserved) > 0

    def price_used(self, at: Ints, usd_per_hour: Floats) -> Floats:
        """The machine's price that totals stand on: its own, or its 30-day median."""
        if not self.use_medians:
            return usd_per_hour
        median = self.groups.median_usd_per_gpu_hour[at] * self.groups.gpu_count[at]
        return np.where(np.isnan(median), usd_per_hour, median)

    def on_median(self, at: Ints) -> Bools:
        """Where the 30-day median stands in for the row's own price."""
        if not self.use_medians:
            return np.zeros(len(at), dtype=np.bool_)
        return ~np.isnan(self.groups.median_usd_per_gpu_hour[at])

    def extras(self, at: Ints, price: Floats, hours: Hours) -> Extras:
        """Disk, traffic and commitments of one run at the groups `at`."""
        groups, pace = self.groups, self.groups.pace[at]
        storage = egress = commitment = None
        if self.disk_gb is not None:
            held = (hours.paid + self.job.setup_hours) * hours.machines
            storage = self.disk_usd_per_hour(at) * held[pace]
        if self.transfer.any_known:
            egress = self.transfer.usd_per_run[groups.seller[at]]
        if len(groups.reserved) and np.isin(groups.reserved, at).any():
            commitment = self._commitments(at, price, hours)
        return Extras(commitment_usd=commitment, storage_usd=storage, egress_usd=egress)

    def disk_usd_per_hour(self, at: Ints) -> Floats:
        """USD per hour and machine for the disk asked for beyond what the price holds."""
        if self.disk_gb is None:
            return np.zeros(len(at))
        beyond = np.maximum(0.0, self.disk_gb - np.nan_to_num(self.groups.money["disk_included_gb"][at]))
        rate = np.nan_to_num(self.groups.money["storage_usd_per_gb_month"][at])
        return np.asarray(rate * beyond / HOURS_PER_MONTH, dtype=np.float64)

    def _commitments(self, at: Ints, price: Floats, hours: Hours) -> Floats:
        """The upfront fee and the committed hours that the work does not use, per run, all machines."""
        cost, groups = np.zeros(len(at)), self.groups
        for i in np.flatnonzero(np.isin(at, groups.reserved)).tolist():
            group = at[i]
            pace = groups.pace[group]
            cost[i] = float(hours.machines[pace]) * commitment_usd_per_run(
                usd_per_hour=float(price[i]),
                upfront_usd=float(np.nan_to_num(groups.money["upfront_usd"][group])),
                term_months=groups.terms_all[int(groups.terms[group])].term_months or np.nan,
                hours_per_run=float(hours.paid[pace]) + self.job.setup_hours,
                work=self.work,
            )
        return cost


def job_terms(request: PlanRequest, work: Work) -> tuple[JobTerms, list[Assumption]]:
    """Set-up, restart and checkpoint times of a run, with the defaults listed."""
    given = request.workload.checkpoint or _NO_CHECKPOINT
    is_service = work.task is Task.INFER
    resumes = given.supported is CheckpointSupport.YES
    restart, stall = given.restart_minutes, given.stall_minutes
    assumed = [_SETUP] if not is_service else []
    if restart is None:
        assumed.append(_RESTART)
    if resumes and stall is None:
        assumed.append(_STALL)
    if given.supported is CheckpointSupport.UNKNOWN and not is_service:
        assumed.append(_UNKNOWN)
    return JobTerms(
        setup_hours=0.0 if is_service else SETUP_MINUTES / _MINUTES,
        restart_hours=(RESTART_MINUTES if restart is None else restart) / _MINUTES,
        stall_hours=(STALL_MINUTES if stall is None else stall) / _MINUTES,
        interval_hours=None if given.interval_minutes is None else given.interval_minutes / _MINUTES,
        resumes=resumes,
        is_service=is_service,
        deadline_hours=request.constraints.deadline_hours,
        runs_each_month=work.runs_each_month,
    ), assumed


_NO_CHECKPOINT: Final = CheckpointSpec()
_SETUP: Final = Assumption(name="setup_minutes", value=SETUP_MINUTES, unit="min", source="estimate", low=2.0, high=30.0)
_RESTART: Final = Assumption(
    name="checkpoint.restart_minutes", value=RESTART_MINUTES, unit="min", source="estimate", low=3.0, high=30.0
)
_STALL: Final = Assumption(
    name="checkpoint.stall_minutes", value=STALL_MINUTES, unit="min", source="estimate", low=0.1, high=10.0
)
PRICE_RANGE: Final = Assumption(
    name="moving_price_range", value="0.8 to 1.3 of today's price", source="estimate, where no 14 days of history are at hand"
)
_UNKNOWN: Final = Assumption(name="checkpoint.supported", value="unknown", source="costed as no: a run starts from zero")
