"""Model names: requests that name a Hugging Face repository are answered with its configuration, where a setting allows it."""

from typing import TypeVar

from starlette.concurrency import run_in_threadpool

from service.api.context import Context
from service.domain.estimation import EstimateRequest
from service.domain.request import PlanRequest
from service.flows.model_lookup import repository_of

Asked = TypeVar("Asked", PlanRequest, EstimateRequest)


async def with_model(asked: Asked, context: Context) -> Asked:
    """The request as it is, or with the configuration of the repository that it names in place of the name.

    Raises:
        UnknownModel, ModelGated, ProviderError: see ModelLookup.
    """
    if context.models is None or repository_of(asked.workload) is None:
        return asked
    return await run_in_threadpool(context.models.resolved, asked)
