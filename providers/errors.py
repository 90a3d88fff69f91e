"""The root of every error of this project and the errors of the market side. None knows HTTP."""

from collections.abc import Sequence
from datetime import timedelta


class OptimizerError(Exception):
    """Root of all our errors. `code` is the stable name that clients see."""

    code = "internal"


class InvalidInput(OptimizerError):
    """A value is refused. `pointer` is the JSON pointer of the field, "" when it is the whole input."""

    code = "invalid-input"

    def __init__(self, message: str, *, pointer: str = "", allowed: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.allowed = tuple(allowed)


class UnknownGpu(InvalidInput):
    """No GPU of the table has this name. `allowed` holds the nearest known names.

    `raw_name` is the market's spelling with odd characters replaced: for diagnostics, never for an answer to the asker.
    """

    code = "unknown-gpu"
    raw_name: str = ""


class UnknownModel(InvalidInput):
    """No model of the table has this name. `allowed` holds the nearest known names."""

    code = "unknown-model"


class ProviderError(OptimizerError):
    """A provider could not be read. The last good prices stay; `provider` is the adapter's name."""

    code = "provider-error"

    def __init__(self, provider: str, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(f"{provider}: {message}")
        self.provider = provider
        self.retry_after = retry_after


class ProviderNeedsKey(ProviderError):
    """No credentials are set for a provider that answers nobody without them."""

    code = "provider-needs-key"


class ProviderCredentials(ProviderError):
    """The provider refused our credentials: nothing helps until the configuration changes."""

    code = "provider-credentials"


class ProviderRateLimited(ProviderError):
    """The provider answered 429: keep the last good prices and try at the next refresh."""

    code = "provider-rate-limited"


class ProviderUnavailable(ProviderError):
    """Time-out, refused connection or 5xx, after all tries."""

    code = "provider-unavailable"


class ProviderPayloadInvalid(ProviderError):
    """The answer is not what the provider documents: HTML, broken JSON, `errors` in a 200, no catalogue in it."""

    code = "provider-payload-invalid"


class ProviderPayloadTooLarge(ProviderError):
    """The body is over the limit and was not read to its end."""

    code = "provider-payload-too-large"
