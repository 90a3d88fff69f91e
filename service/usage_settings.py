"""Usage settings: where the use of own GPUs is measured: a Prometheus server that scrapes the DCGM exporter."""

from string import Template
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

UTILIZATION: Final = "DCGM_FI_DEV_GPU_UTIL"
_HELD: Final = f'{UTILIZATION}{{pod!=""}}'  # the exporter names the pod that holds a GPU
_COUNT: Final = "count_over_time"


class PrometheusSettings(BaseModel):
    """In the queries `$pool` is the pool's name and `$window` the window, as `720h`. Each gives one number.

    The default queries see every GPU of the server as one pool: put a selector with `$pool` into them where it scrapes
    several. A GPU that the exporter did not report counts neither as held nor as idle.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str | None = None
    token: SecretStr | None = None
    window_hours: int = Field(default=720, ge=1, le=8784)
    interval_seconds: int = Field(default=3600, ge=60)
    allocated_query: str | None = f"(sum({_COUNT}({_HELD}[$window])) or vector(0)) / sum({_COUNT}({UTILIZATION}[$window]))"
    active_query: str | None = f"sum(sum_over_time({UTILIZATION}[$window])) / sum({_COUNT}({UTILIZATION}[$window])) / 100"
    gpus_query: str | None = f"count(count by (UUID) (count_over_time({UTILIZATION}[$window])))"

    @field_validator("url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("the address of a Prometheus server begins with http:// or https://")
        return None if value is None else value.rstrip("/")

    @field_validator("allocated_query", "active_query", "gpus_query")
    @classmethod
    def _is_template(cls, value: str | None) -> str | None:
        if value is not None and not set(Template(value).get_identifiers()) <= {"pool", "window"}:
            raise ValueError("a query may name $pool and $window only ($$ is a dollar)")
        return value
