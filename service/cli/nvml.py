"""NVML: the GPUs of this machine through the driver's own library; the one place that touches it."""

from importlib import import_module
from typing import Any

from providers.units import GIB
from service.flows.check_gpu import LocalCard


class NoGpuSeen(Exception):
    """No GPU can be seen from here; the message says why."""


def local_cards(nvml: Any = None) -> tuple[LocalCard, ...]:
    """The cards as the driver tells them; `nvml` stands for the module pynvml in tests.

    Raises:
        NoGpuSeen: no library, no driver or no card.
    """
    if nvml is None:
        try:
            nvml = import_module("pynvml")
        except ImportError as error:
            raise NoGpuSeen("no GPU can be seen: nvidia-ml-py is not installed (pip install nvidia-ml-py)") from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NoGpuSeen("no GPU can be seen: the NVIDIA driver is not there") from error
    try:
        driver = _text(nvml.nvmlSystemGetDriverVersion())
        cards = tuple(_card(nvml, index, driver) for index in range(nvml.nvmlDeviceGetCount()))
    except nvml.NVMLError as error:
        raise NoGpuSeen("no GPU can be seen: the NVIDIA driver does not answer") from error
    finally:
        nvml.nvmlShutdown()
    if not cards:
        raise NoGpuSeen("no GPU can be seen: the driver counts none")
    return cards


def _card(nvml: Any, index: int, driver: str) -> LocalCard:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return LocalCard(
        index=index,
        name=_text(nvml.nvmlDeviceGetName(handle)),
        memory_gib=memory.total / GIB,
        free_gib=memory.free / GIB,
        driver=driver,
    )


def _text(value: Any) -> str:
    """Older versions of the library answer bytes."""
    return value.decode() if isinstance(value, bytes) else str(value)
