"""Model settings: whether the configuration of a model that is not in the table may be read from Hugging Face."""

from pydantic import BaseModel, ConfigDict, SecretStr


class HuggingFaceSettings(BaseModel):
    """Off until enabled: naming a model must not send anything anywhere unasked. A token opens gated repositories."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    enabled: bool = False
    token: SecretStr | None = None
