"""The field's rule of thumb: a fixed number of bytes per parameter, shown beside our estimate and never used in a plan."""

from collections.abc import Mapping
from types import MappingProxyType

from providers.errors import InvalidInput
from providers.units import GB, gib_from_bytes

# bytes per parameter: the usual table says 112, 18, 6, 14, 7 and 4 GB for a model of 7 billion
BYTES_PER_PARAM: Mapping[str, float] = MappingProxyType(
    {
        "full": 16.0,
        "lora": 18 / 7,
        "qlora": 6 / 7,
        "inference_16bit": 2.0,
        "inference_8bit": 1.0,
        "inference_4bit": 4 / 7,
    }
)


def rule_of_thumb_gib(params_b: float, *, kind: str) -> float:
    """GiB that the rule gives for a model of `params_b` billion parameters; batch, sequence and library do not matter to it.

    Raises:
        InvalidInput: `kind` is none of BYTES_PER_PARAM.
    """
    if kind not in BYTES_PER_PARAM:
        raise InvalidInput("the rule of thumb knows no such use", pointer="/kind", allowed=tuple(BYTES_PER_PARAM))
    return gib_from_bytes(params_b * GB * BYTES_PER_PARAM[kind])
