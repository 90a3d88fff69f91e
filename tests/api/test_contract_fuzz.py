"""Generated requests against the running app: no 5xx, no status or body that the document does not tell."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.api import openapi_document

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
TOLD = {operation["operationId"]: operation for methods in openapi_document()["paths"].values() for operation in methods.values()}
RUNS = [(name, "positive") for name in sorted(TOLD)]
RUNS += [(name, "negative") for name, told in sorted(TOLD.items()) if told.keys() & {"parameters", "requestBody"}]


@pytest.fixture(scope="module")
def operations(app):
    """Every operation by its id, as the running app's own document tells it."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    found = (result.ok() for result in schema.get_all_operations())
    return {operation.definition.raw["operationId"]: operation for operation in found}


@pytest.mark.parametrize(("name", "mode"), RUNS)
def test_generated_requests(operations, holder, name, mode):
    generation = schemathesis.GenerationMode(mode)

    @settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operations[name].as_strategy(generation_mode=generation))
    def check(case):
        case.call_and_validate(checks=CHECKS)

    check()
