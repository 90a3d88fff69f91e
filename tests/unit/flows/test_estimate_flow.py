"""The estimate of a workload card by card: refusals with their pointers, and what the answer shows."""

import json

import pytest

from providers.errors import InvalidInput
from service.domain.estimation import EstimateAnswer, EstimateRequest
from service.flows.estimate import make_estimate


def answer(workload: dict, **fields) -> EstimateAnswer:
    return make_estimate(EstimateRequest.model_validate_json(json.dumps({"workload": workload} | fields)))


def test_a_forced_split_that_no_asked_count_allows_is_refused():
    # Llama-3.1-8B has 8 key-value heads: 3 GPUs cannot share them
    split = {"task": "infer", "model": "llama-3.1-8b", "strategy": "tensor_parallel"}
    with pytest.raises(InvalidInput) as refused:
        answer(split, gpus=["H100 SXM"], gpu_counts=[3, 6])
    assert refused.value.pointer == "/workload/strategy"
    assert refused.value.allowed == ("1", "2", "4", "8")
    assert answer(split, gpus=["H100 SXM"], gpu_counts=[3, 4]).gpus[0].smallest_gpu_count == 4
