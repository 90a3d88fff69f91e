"""The link between the GPUs of one machine, as far as the card's form (and a measurement) tells it."""

from providers.gpus import GpuMatch
from providers.offer import UNKNOWN_FORM_FACTOR, Interconnect


def interconnect_of(match: GpuMatch, *, measured_gb_per_s: float | None = None) -> Interconnect:
    """What joins several such cards in one machine; what no one states is unknown, never a link.

    Args:
        measured_gb_per_s: the market's own measurement where it has one; 0 is "no link, or not measured".
    """
    gpu, form = match.gpu, match.form_factor.casefold()
    is_board = form.startswith(("sxm", "oam")) or "module" in form
    if measured_gb_per_s:
        return Interconnect.NVLINK if is_board else Interconnect.NVLINK_BRIDGE
    if form == UNKNOWN_FORM_FACTOR:
        return Interconnect.UNKNOWN
    if gpu.nvlink_gb_per_s == 0:
        return Interconnect.NONE
    if is_board:
        return Interconnect.NVLINK if measured_gb_per_s is None else Interconnect.UNKNOWN
    if "NVL" in gpu.name:
        return Interconnect.NVLINK_BRIDGE
    # A card sold under the word PCIe comes without a bridge; RTX 3090, A40 and their like may have one.
    return Interconnect.NONE if "PCIe" in gpu.name else Interconnect.UNKNOWN
