"""TokenWork: what one training token asks of any card, worked out once per step so that only the card's rates are left."""

from dataclasses import dataclass
from functools import lru_cache

from service.estimate.flops import (
    attention_flops_per_token,
    dequantized_bytes_per_token,
    linear_flops_per_token,
    recomputed_forwards,
    traffic_bytes_per_token,
)
from service.estimate.time_constants import TimeConstants, share_of
from service.estimate.train_step import TrainStep


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWork:
    """Of one token: operations as a long step's rate counts them, bytes as the card's bandwidth counts them, and seconds.

    `passes` is the work of a preference step over that of its policy's training step alone; `generated_bytes` are read to
    write the answers that it learns from.
    """

    body_flops: float
    head_flops: float
    attention_flops: float
    bytes_moved: float
    optimizer_bytes: float
    dequantized_bytes: float
    launch_seconds: float
    hook_seconds: float
    passes: float
    generated_bytes: float


@lru_cache(maxsize=4096)
def token_work(step: TrainStep, constants: TimeConstants) -> TokenWork:
    """The card's part left out, each figure is divided by the share that is sustained of the rate it meets."""
    body, head = _linear_flops(step, constants)
    attention = constants.attention
    share = attention.share * (attention.megatron_relative if step.framework == "megatron" else 1.0)
    streamed = constants.elementwise.bandwidth_share
    moved = constants.optimizer.bytes_per_parameter * step.shape.params_total if step.technique == "full" else 0.0
    return TokenWork(
        body_flops=body,
        head_flops=head,
        attention_flops=attention_flops_per_token(step) / share,
        bytes_moved=traffic_bytes_per_token(step, constants) / streamed,
        optimizer_bytes=moved / streamed / (step.tokens * step.accumulation),
        dequantized_bytes=dequantized_bytes_per_token(step, constants) / constants.quantized.bandwidth_share,
        launch_seconds=_launch_seconds(step, constants),
        hook_seconds=_hook_seconds(step, constants),
        passes=_passes(step, constants),
        generated_bytes=_generated_bytes(step, constants),
    )


def _linear_flops(step: TrainStep, constants: TimeConstants) -> tuple[float, float]:
    """Operations of the blocks and of the output head, which 8- and 4-bit formats leave at 16 bits."""
    shape, matmul = step.shape, constants.matmul
    flops = linear_flops_per_token(step) * (1.0 + matmul.narrow_hidden / shape.hidden)
    if shape.is_moe:
        flops /= matmul.expert_relative
    head = min(shape.embedding_params / shape.matmul_params, 1.0) if shape.matmul_params else 0.0
    body = flops * (1.0 - head)
    if step.framework == "megatron" and step.precision in ("fp8", "fp4"):
        body /= matmul.megatron_fp8
    return body, flops * head


def _passes(step: TrainStep, constants: TimeConstants) -> float:
    if not step.preference:
        return 1.0
    forward = 1.0 / (3.0 + recomputed_forwards(step))
    cost = constants.preference
    return 1.0 + share_of(cost.trainings, step.preference) + share_of(cost.forwards, step.preference) * forward


def _generated_bytes(step: TrainStep, constants: TimeConstants) -> float:
    """The policy writes answers: its weights are read once for a batch of them."""
    if not step.preference:
        return 0.0
    cost = constants.preference
    return share_of(cost.generated_fraction, step.preference) * 2.0 * step.shape.params_active / cost.generation_batch


def _launch_seconds(step: TrainStep, constants: TimeConstants) -> float:
    """Time an eager program needs to issue its kernels, per token; a compiled one issues few."""
    if step.compiled:
        return 0.0
    cost = constants.launch
    kernels = cost.kernels_per_layer + cost.kernels_per_adapter * step.adapted.modules
    passes = 4.0 if step.recompute == "full" else 3.0
    return cost.seconds_per_kernel * kernels * step.shape.all_layers * passes / step.tokens


def _hook_seconds(step: TrainStep, constants: TimeConstants) -> float:
    """Time of the gather and release hooks of eager sharded training, per token."""
    if not step.layout.fully_sharded or step.compiled:
        return 0.0
    cost = constants.launch
    hooks = cost.zero3_hook_relative if step.layout.sharding == "zero3" else 1.0
    return cost.hook_seconds_per_layer * hooks * step.shape.all_layers / step.tokens
