"""`gpuplan openapi`: the description of the REST doors."""

import sys
from typing import Annotated

import typer


def openapi(as_json: Annotated[bool, typer.Option("--json", help="JSON instead of YAML.")] = False) -> int:
    """Print the OpenAPI document of this version, as the file openapi.yaml holds it."""
    from service.api import openapi_document

    document = openapi_document()
    if as_json:
        import json

        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        import yaml

        sys.stdout.write(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120))
    return 0
