"""GET /gpus and GET /models: the tables that names are looked up in."""

from dataclasses import dataclass

from providers.gpus import GPUS, Gpu
from service.api.routing import operation, router_of
from service.estimate.models import MODELS, ModelShape

router = router_of("tables")


@dataclass(frozen=True, slots=True)
class GpuTable:
    """All known cards."""

    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, slots=True)
class ModelTable:
    """All known models."""

    models: tuple[ModelShape, ...]


@router.get("/gpus", response_model=GpuTable, **operation("listGpus", "List the known GPUs"))
async def list_gpus() -> GpuTable:
    """Every card known by name, with memory, rates and price of a new or used one; null is what its maker does not state.

    `name` is how answers call it; the aliases are understood everywhere, and a `family` takes all its variants.
    """
    return GpuTable(gpus=tuple(GPUS.values()))


@router.get("/models", response_model=ModelTable, **operation("listModels", "List the known models"))
async def list_models() -> ModelTable:
    """Every model known by name, with the sizes that decide its memory and speed.

    Aliases and Hugging Face ids are understood too.
    """
    return ModelTable(models=tuple(MODELS.values()))
