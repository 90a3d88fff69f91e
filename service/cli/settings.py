"""Settings of a command: the GPUPLAN_ variables with what its options say on top."""

from typing import TYPE_CHECKING, Any

from service.cli.exits import guarded

if TYPE_CHECKING:
    from service.settings import Settings


def settings_with(**given: Any) -> "Settings":
    """The checked settings. Raises CommandError (usage) that names the refused variable, never its value."""
    from service.settings import load_settings

    loaded: Settings = guarded(lambda: load_settings(**given))
    return loaded
