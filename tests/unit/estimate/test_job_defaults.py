"""Jobs of workloads: defaults are listed, impossible combinations are refused with their field."""

import json

import pytest

from providers.errors import InvalidInput, UnknownModel
from service.domain.workload import Framework, LossKind, Precision, Quantization, Technique, Workload
from service.estimate.job_checks import check_counts
from service.estimate.job_defaults import job_shape


def job_of(**fields):
    return job_shape(Workload.model_validate_json(json.dumps(fields)))


def test_every_default_of_a_bare_training_job_is_listed_with_its_source():
    job, assumed = job_of(model="llama-3.1-8b", tokens=1e6)
    assert {one.name for one in assumed} == {
        "technique", "precision", "framework", "optimizer", "loss", "sequence_length", "micro_batch_size",
        "gradient_checkpointing", "state_format",
    }  # fmt: skip
    assert all(one.source for one in assumed)
    assert (job.technique, job.precision, job.sequence_length) == (Technique.FULL, Precision.BF16, 2048)


def test_what_is_given_is_not_listed():
    _, assumed = job_of(
        model="llama-3.1-8b", tokens=1e6, technique="lora", precision="bf16", framework="torchtune", optimizer="adamw",
        loss="chunked", sequence_length=512, micro_batch_size=2, gradient_checkpointing=False, lora_rank=8, lora_targets="q,v",
    )  # fmt: skip
    assert assumed == ()


def test_qlora_takes_nf4_and_a_rank():
    job, assumed = job_of(model="llama-3.1-8b", technique="qlora", tokens=1e6)
    assert (job.quantization, job.lora_rank, job.lora_targets) == (Quantization.NF4, 16, "all")
    assert {"quantization", "lora_rank", "lora_targets"} <= {one.name for one in assumed}


def test_a_weight_format_for_adapters_is_the_format_of_the_frozen_base():
    job, _ = job_of(model="llama-3.1-8b", technique="lora", precision="int8", tokens=1e6)
    assert (job.precision, job.quantization) == (Precision.BF16, Quantization.INT8)


def test_frameworks_bring_their_loss():
    assert job_of(model="llama-3.1-8b", framework="unsloth", tokens=1e6)[0].loss is LossKind.FUSED
    assert job_of(model="llama-3.1-8b", framework="hf", tokens=1e6)[0].loss is LossKind.PLAIN


def test_equal_work_and_unequal_work_share_a_job():
    assert job_of(model="llama-3.1-8b", tokens=1e6)[0] == job_of(model="meta-llama/Llama-3.1-8B", tokens=5e9)[0]
    assert hash(job_of(model="llama-3.1-8b", tokens=1e6)[0]) == hash(job_of(model="llama-3.1-8b", tokens=5e9)[0])


@pytest.mark.parametrize(
    ("precision", "quantization", "framework", "scheme"),
    [
        ("int4", None, None, Quantization.AWQ),
        ("int4", None, "llama_cpp", Quantization.GGUF_Q4_K_M),
        ("int4", None, "exllama", Quantization.GPTQ),
        ("int8", None, None, Quantization.INT8),
        ("fp8", None, None, Quantization.FP8),
        (None, "gptq", None, Quantization.GPTQ),
        (None, None, None, None),
    ],
)
def test_served_weights_get_a_scheme(precision, quantization, framework, scheme):
    fields = {"precision": precision, "quantization": quantization, "framework": framework}
    given = {name: value for name, value in fields.items() if value}
    assert job_of(task="infer", model="llama-3.1-8b", **given)[0].quantization is scheme


def test_gguf_weights_are_served_by_llama_cpp():
    assert job_of(task="infer", model="llama-3.1-8b", quantization="gguf_q4_k_m")[0].framework is Framework.LLAMA_CPP


def test_concurrency_is_what_must_fit_at_once():
    job, _ = job_of(task="infer", model="llama-3.1-8b", concurrency=32, prompt_tokens=1000, output_tokens=24)
    assert (job.micro_batch_size, job.sequence_length, job.concurrency) == (32, 1024, 32)


@pytest.mark.parametrize(
    ("fields", "pointer", "allowed"),
    [
        ({"technique": "full", "quantization": "nf4"}, "/workload/quantization", "qlora"),
        ({"technique": "full", "precision": "int8"}, "/workload/precision", "bf16"),
        ({"technique": "dpo", "quantization": "nf4"}, "/workload/quantization", "lora"),
        ({"technique": "lora", "lora_rank": 1025}, "/workload/lora_rank", "1 to 1024"),
        ({"technique": "lora", "lora_targets": "q,banana"}, "/workload/lora_targets", "all"),
        ({"sequence_length": 131_073}, "/workload/sequence_length", "1 to 131072"),
        ({"task": "infer", "prompt_tokens": 131_072, "output_tokens": 1}, "/workload/prompt_tokens", "1 to 131072"),
        ({"task": "infer", "quantization": "awq", "precision": "int8"}, "/workload/precision", "int4"),
        ({"model": "bert-large", "technique": "dpo"}, "/workload/technique", "full"),
        ({"model": "bert-large", "technique": "reward_model"}, "/workload/technique", "full"),
        ({"task": "infer", "model": "gemma-2b", "strategy": "tensor_parallel"}, "/workload/strategy", "single"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field_and_what_would_do(fields, pointer, allowed):
    with pytest.raises(InvalidInput) as refused:
        job_of(**{"model": "llama-3.1-8b"} | ({} if fields.get("task") == "infer" else {"tokens": 1e6}) | fields)
    assert refused.value.pointer == pointer
    assert allowed in refused.value.allowed


def test_a_raw_workload_is_not_estimated():
    with pytest.raises(InvalidInput, match="raw"):
        job_of(task="raw", vram_gib=20, gpu_hours=5)


def test_an_unknown_model_names_the_nearest():
    with pytest.raises(UnknownModel) as refused:
        job_of(model="lama-3.1-8b", tokens=1e6)
    assert "Llama-3.1-8B" in refused.value.allowed


@pytest.mark.parametrize(
    ("framework", "kept"), [("hf", "bf16"), ("torchtune", "bf16"), ("megatron", "fp32"), ("llama_factory", "fp32")]
)
def test_the_format_of_the_states_is_told(framework, kept):
    _, assumed = job_of(model="llama-3.1-8b", framework=framework, tokens=1e6)
    assert next(one.value for one in assumed if one.name == "state_format") == kept


def test_counts_that_no_tensor_split_takes_are_refused():
    job, _ = job_of(task="infer", model="qwen2.5-7b", strategy="tensor_parallel")
    check_counts(job, (3, 4))
    with pytest.raises(InvalidInput) as refused:
        check_counts(job, (3, 8))  # 4 KV heads
    assert refused.value.allowed == ("1", "2", "4")
