"""Logs: one JSON object per line on standard error, without secrets."""

import json
import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

_SECRET: Final = re.compile(r"key|token|secret|password|authorization|database_url", re.IGNORECASE)
_NOT_SECRET: Final = frozenset({"tokens"})


class _JsonLine(logging.Formatter):
    """A library's warning as one JSON object; of a trace only the class, since its text may hold values."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = {"event": record.getMessage(), "level": record.levelname.lower(), "logger": record.name}
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__
        return json.dumps(told)


def configure_logs(level: int = logging.INFO) -> None:
    """Sends our events, and warnings of the libraries, to standard error as JSON."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _without_secrets,
            structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLine())
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)


def _without_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Values under names that hold credentials are blotted out, whoever logged them."""
    for name in event:
        if name not in _NOT_SECRET and _SECRET.search(name):
            event[name] = "***"
    return event
