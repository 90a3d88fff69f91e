"""The REST doors."""

from typing import Any


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of this version, as openapi.yaml holds it."""
    from service.api.app import bare_app

    return bare_app().openapi()
