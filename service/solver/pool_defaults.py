"""Pool defaults: what own hardware costs where the request does not say, dated, and every one of them listed.

Maintenance depends on capex, so a lower purchase price lowers it too: that effect is left out of tipping values.
"""

from dataclasses import dataclass
from typing import Final

from providers.gpus import Gpu
from providers.units import HOURS_PER_MONTH, HOURS_PER_YEAR, MONTHS_PER_YEAR
from service.domain.estimate import Assumption
from service.domain.request import OnPremPool, PoolMode
from service.solver.amortize import W_PER_KW, PoolCost, annuity_usd_per_year

AS_OF: Final = "2026-09-20"
_PARTS_LIST: Final = "public configurator and parts lists"
_ESTIMATE: Final = "estimate"


@dataclass(frozen=True, slots=True)
class _Default:
    low: float
    base: float
    high: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Box:
    """A dated default node: cards, purchase price and power."""

    gpus: int
    capex_usd: _Default
    load_watts: float
    idle_watts: float
    staff_usd_per_year: float


def _usd(low: float, base: float, high: float, source: str) -> _Default:
    return _Default(low, base, high, "USD", source)


_H100 = Box(8, _usd(230e3, 275e3, 340e3, _PARTS_LIST), 8400, 2200, 25e3)
_A100 = Box(8, _usd(48e3, 110e3, 150e3, "15,000 per GPU quoted; used nodes at 48,000"), 5000, 1500, 25e3)
_4090 = Box(4, _usd(9e3, 11e3, 14e3, "cards at 1,700-2,400 quoted and a host"), 2100, 350, 4e3)
BOXES: Final = {
    "H100-SXM": _H100,
    "H200-SXM": Box(8, _usd(260e3, 310e3, 380e3, _ESTIMATE), 8400, 2200, 25e3),
    "B200": Box(8, _usd(400e3, 480e3, 600e3, _ESTIMATE), 14300, 3700, 25e3),
    "A100-SXM4-80GB": _A100,
    "L40S": Box(8, _usd(75e3, 95e3, 120e3, _ESTIMATE), 4000, 1000, 15e3),
    "RTX A6000": Box(4, _usd(18e3, 24e3, 30e3, _ESTIMATE), 1700, 300, 4e3),
    "RTX 4090": _4090,
    "RTX 5090": Box(4, _usd(13e3, 17e3, 22e3, _ESTIMATE), 2700, 400, 4e3),
}
_FACTORS: Final = {
    "residual_fraction": _Default(0.05, 0.15, 0.30, "fraction of capex", "resale indices; left after 4 years"),
    "life_years": _Default(3, 4, 5, "years", "book life and tax class of servers"),
    "discount_rate_fraction": _Default(0.06, 0.09, 0.14, "per year", "equipment financing quoted at 8-12 %"),
    "spares_fraction": _Default(0.02, 0.04, 0.06, "fraction of capex", "or one GPU in 64"),
    "maintenance_fraction_per_year": _Default(0.03, 0.06, 0.12, "fraction of capex per year", "1-15 % in public models"),
    "software_usd_per_gpu_year": _Default(0, 0, 4500, "USD", "vendor list price of the optional AI software"),
    "electricity_usd_per_kwh": _Default(0.08, 0.12, 0.20, "USD", "industrial tariffs"),
    "pue": _Default(1.15, 1.35, 1.6, "", "1.1-1.8 by type of site"),
    "availability_fraction": _Default(0.93, 0.97, 0.99, "fraction", _ESTIMATE),
    "lead_time_months": _Default(1, 4, 8, "months", "colocation 4-8 weeks, an own room 4-8 months"),
}
_NETWORK: Final = _Default(0.0, 0.10, 0.20, "fraction of capex", "10-15 % quoted; none for one node")


def box_for(gpu: Gpu) -> Box:
    """The default node of a card: from the table, else of eight cards at the card's price in gpus.csv."""
    if gpu.name in BOXES:
        return BOXES[gpu.name]
    count = 8 if gpu.nvlink_gb_per_s else 4
    price = gpu.price_usd or 5000.0
    base = count * price * 1.3 + 5000
    load = count * gpu.tdp_watts * 1.4
    source = f"estimate: {count} cards at {price:g} and a host"
    return Box(count, _usd(0.8 * base, base, 1.3 * base, source), load, 0.25 * load, 25e3 * count / 8)


def default_pool(gpu: Gpu) -> OnPremPool:
    """The dated default box of a card, to be bought."""
    return OnPremPool(name="default", gpu=gpu.name, gpus_per_node=box_for(gpu).gpus, nodes=1, mode=PoolMode.BUY)


def cost_of(pool: OnPremPool, gpu: Gpu) -> tuple[PoolCost, list[Assumption]]:
    """What the pool costs, and the defaults that it took."""
    flat = pool.usd_per_gpu_hour
    if flat is None and pool.usd_per_gpu_month is not None:
        flat = pool.usd_per_gpu_month / HOURS_PER_MONTH
    if flat is not None:
        return _flat(pool, flat), []
    reader = _Reader(pool)
    return _by_parts(pool, box_for(gpu), reader), reader.listed


def _flat(pool: OnPremPool, usd_per_gpu_hour: float) -> PoolCost:
    """A price per calendar GPU-hour holds everything; where it is owned it is what each used hour is charged."""
    bought = pool.mode is PoolMode.BUY
    return PoolCost(
        gpus=pool.gpus_per_node * pool.nodes, capex_usd=0.0, capital_usd_per_year=0.0, idle_energy_usd_per_year=0.0,
        maintenance_usd_per_year=0.0, software_usd_per_year=0.0, colocation_usd_per_year=0.0, staff_usd_per_year=0.0,
        flat_usd_per_gpu_hour=usd_per_gpu_hour if bought else 0.0,
        marginal_usd_per_gpu_hour=0.0 if bought else usd_per_gpu_hour,
        availability_fraction=pool.availability_fraction or 1.0, life_years=pool.life_years or 4.0,
        lead_time_months=pool.lead_time_months or 0.0,
    )  # fmt: skip


class _Reader:
    """Reads a pool's figures and lists each default taken."""

    def __init__(self, pool: OnPremPool) -> None:
        self.pool = pool
        self.listed: list[Assumption] = []

    def read(self, name: str, default: _Default) -> float:
        """The pool's figure, or the default, listed."""
        given: float | None = getattr(self.pool, name)
        if given is not None:
            return given
        self.listed.append(
            Assumption(
                name=f"on_prem.{self.pool.name}.{name}",
                value=default.base,
                unit=default.unit,
                source=default.source,
                as_of=None if default.source == _ESTIMATE else AS_OF,
                low=default.low,
                high=default.high,
            )
        )
        return default.base


def _by_parts(pool: OnPremPool, box: Box, reader: _Reader) -> PoolCost:
    nodes, share = pool.nodes, pool.gpus_per_node / box.gpus
    scaled = _usd(box.capex_usd.low * share, box.capex_usd.base * share, box.capex_usd.high * share, box.capex_usd.source)
    owned = pool.mode is PoolMode.OWNED
    factor = {name: _FACTORS[name] for name in _FACTORS}
    availability = reader.read("availability_fraction", factor["availability_fraction"])
    load, idle = _power(box, share, reader)
    kwh, pue = _energy(pool, reader)
    marginal = (load - idle) / W_PER_KW * pue * kwh / pool.gpus_per_node
    life = reader.read("life_years", factor["life_years"]) if not owned else pool.life_years or factor["life_years"].base
    if owned:
        return _running_only(pool, marginal, availability, life)
    capex = reader.read("capex_usd_per_node", scaled) * nodes
    network = reader.read("network_fraction", _NETWORK) if nodes > 1 else pool.network_fraction or 0.0
    extra = network + reader.read("spares_fraction", factor["spares_fraction"])
    residual = reader.read("residual_fraction", factor["residual_fraction"])
    rate = reader.read("discount_rate_fraction", factor["discount_rate_fraction"])
    base = box.staff_usd_per_year * share
    staff = _Default(0.32 * base, base, 2.4 * base, "USD per node-year", "0.1-0.5 of a person a node of eight cards")
    return PoolCost(
        gpus=pool.gpus_per_node * nodes,
        capex_usd=capex * (1 + extra),
        capital_usd_per_year=annuity_usd_per_year(
            capex_usd=capex,
            extra_fraction=extra,
            residual_fraction=residual,
            rate_fraction=rate,
            life_years=life,
        ),
        idle_energy_usd_per_year=idle / W_PER_KW * pue * kwh * HOURS_PER_YEAR * nodes,
        maintenance_usd_per_year=reader.read("maintenance_fraction_per_year", factor["maintenance_fraction_per_year"]) * capex,
        software_usd_per_year=reader.read("software_usd_per_gpu_year", factor["software_usd_per_gpu_year"])
        * pool.gpus_per_node
        * nodes,
        colocation_usd_per_year=(pool.colocation_usd_per_kw_month or 0.0) * load / W_PER_KW * MONTHS_PER_YEAR * nodes,
        staff_usd_per_year=reader.read("staff_usd_per_node_year", staff) * nodes,
        flat_usd_per_gpu_hour=None,
        marginal_usd_per_gpu_hour=marginal,
        availability_fraction=availability,
        life_years=life,
        lead_time_months=reader.read("lead_time_months", factor["lead_time_months"]),
        resale_usd=residual * capex,
        rate_fraction=rate,
    )


def _running_only(
    pool: OnPremPool, marginal_usd_per_gpu_hour: float, availability_fraction: float, life_years: float
) -> PoolCost:
    """Hardware that is owned: what was paid for it, and what runs whether it is used or not, does not count."""
    return PoolCost(
        gpus=pool.gpus_per_node * pool.nodes, capex_usd=0.0, capital_usd_per_year=0.0, idle_energy_usd_per_year=0.0,
        maintenance_usd_per_year=0.0, software_usd_per_year=0.0, colocation_usd_per_year=0.0, staff_usd_per_year=0.0,
        flat_usd_per_gpu_hour=None, marginal_usd_per_gpu_hour=marginal_usd_per_gpu_hour,
        availability_fraction=availability_fraction,
        life_years=life_years, lead_time_months=0.0,
    )  # fmt: skip


def _power(box: Box, share: float, reader: _Reader) -> tuple[float, float]:
    load, idle = box.load_watts * share, box.idle_watts * share
    read_load = reader.read("load_watts", _Default(0.8 * load, load, 1.2 * load, "W", "measured nodes of this kind"))
    read_idle = reader.read("idle_watts", _Default(0.7 * idle, idle, 1.4 * idle, "W", _ESTIMATE))
    return max(read_load, read_idle), min(read_load, read_idle)


def _energy(pool: OnPremPool, reader: _Reader) -> tuple[float, float]:
    """Price per kWh and PUE. A colocation price holds power and cooling unless a price per kWh stands beside it."""
    if pool.colocation_usd_per_kw_month is not None and pool.electricity_usd_per_kwh is None:
        return 0.0, pool.pue or 1.0
    kwh = reader.read("electricity_usd_per_kwh", _FACTORS["electricity_usd_per_kwh"])
    if pool.colocation_usd_per_kw_month is not None:
        return kwh, pool.pue or 1.0
    return kwh, reader.read("pue", _FACTORS["pue"])
