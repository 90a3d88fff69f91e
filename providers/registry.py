"""All adapters: a new provider is its file and one line here."""

from providers.aws import Aws
from providers.azure import Azure
from providers.azureml import AzureMl
from providers.base import Adapter
from providers.colab import Colab
from providers.errors import InvalidInput
from providers.gcp import Gcp
from providers.kaggle import Kaggle
from providers.lambda_cloud import LambdaCloud
from providers.price_file import PriceFile
from providers.reference import Reference
from providers.runpod import RunPod
from providers.sagemaker import SageMaker
from providers.vast import Vast
from providers.vertex import Vertex

ADAPTERS: tuple[type[Adapter], ...] = (
    LambdaCloud,
    RunPod,
    Vast,
    Aws,
    SageMaker,
    Gcp,
    Vertex,
    Azure,
    AzureMl,
    Colab,
    Kaggle,
    Reference,
    PriceFile,
)
_BY_NAME = {adapter.name: adapter for adapter in ADAPTERS}


def adapter_named(name: str) -> type[Adapter]:
    """The adapter of this name.

    Raises:
        InvalidInput: there is none; `allowed` holds all names.
    """
    if (found := _BY_NAME.get(name)) is None:
        raise InvalidInput("no provider has this name", allowed=tuple(_BY_NAME))
    return found
