"""Logs: one JSON object per line on standard error, without secrets."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

_SECRET: Final = re.compile(r"key|token|secret|password|authorization|database_url", re.IGNORECASE)
_NOT_SECRET: Final = frozenset({"tokens", "token_count"})


def configure_logs(level: int = logging.INFO) -> None:
    """Sends our events, and warnings of the libraries, to standard error as JSON. Traces name code, never values."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_secrets,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format='{"level": "%(levelname)s", "logger": "%(name)s"}')


def _without_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Values under names that hold credentials are blotted out, whoever logged them."""
    for name in event:
        if name not in _NOT_SECRET and _SECRET.search(name):
            event[name] = "***"
    return event
