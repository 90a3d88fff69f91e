"""JobShape: the part of a workload that decides memory and speed, without the amount of work."""

from dataclasses import dataclass

from service.domain.workload import Framework, LossKind, Optimizer, Precision, Quantization, Strategy, Task, Technique
from service.estimate.calibration import UNCALIBRATED, Calibration
from service.estimate.hashed_once import HashedOnce
from service.estimate.model_shape import ModelShape

ADAPTER_TECHNIQUES = frozenset({Technique.LORA, Technique.QLORA})
PREFERENCE_TECHNIQUES = frozenset({Technique.DPO, Technique.PPO, Technique.GRPO, Technique.REWARD_MODEL})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShape(HashedOnce):
    """What decides memory and speed, without the amount of work: equal shapes share their estimates.

    For `infer`, `technique` is None, `sequence_length` is prompt plus answer and `micro_batch_size` the sequences that
    must fit at once; `concurrency` None means as many as fit.
    """

    task: Task
    model: ModelShape
    technique: Technique | None
    precision: Precision
    quantization: Quantization | None
    kv_cache_precision: Precision
    optimizer: Optimizer = Optimizer.ADAMW
    optimizer_in_backward: bool = False
    framework: Framework
    loss: LossKind = LossKind.PLAIN
    compiled: bool = False
    flash_attention: bool = True
    strategy: Strategy | None = None
    sequence_length: int
    micro_batch_size: int
    gradient_accumulation_steps: int = 1
    gradient_checkpointing: bool = False
    lora_rank: int = 0
    lora_targets: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    concurrency: int | None = None
    time_to_first_token_seconds: float | None = None
    time_per_output_token_seconds: float | None = None
    calibration: Calibration = UNCALIBRATED

    __hash__ = HashedOnce.__hash__

    @property
    def uses_adapters(self) -> bool:
        """Only small added matrices are trained; the base stays frozen."""
        return self.lora_rank > 0

    def seconds_factor(self, gpu_name: str) -> float:
        """What the user's calibration puts on the time of this job on a card."""
        if self.calibration is UNCALIBRATED:  # asked for thousands of times per plan
            return 1.0
        phase = "train" if self.task is Task.TRAIN else "serving"
        return self.calibration.seconds_factor(self.framework.value, phase, gpu_name)
