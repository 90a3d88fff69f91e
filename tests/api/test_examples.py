"""Each example request is accepted by the running app, and what comes back has the shape of the example answer."""

import importlib.util
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from service.api import openapi_document

DOCUMENT = openapi_document()
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def beside(name):
    """A module of this folder."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES, SMALL = beside("example_app"), beside("conftest")


def differences(example, given, at=""):
    """Where two values differ in shape: names of objects, kinds of values; null matches anything, lists by their first."""
    if example is None or given is None:
        return []
    if isinstance(example, dict) and isinstance(given, dict):
        found = [f"{at}: only one has {name}" for name in example.keys() ^ given.keys()]
        both = example.keys() & given.keys()
        return found + [text for name in both for text in differences(example[name], given[name], f"{at}/{name}")]
    if isinstance(example, list) and isinstance(given, list):
        return differences(example[0], given[0], f"{at}/0") if example and given else []
    kinds = [float if isinstance(one, int) and not isinstance(one, bool) else type(one) for one in (example, given)]
    return [] if kinds[0] is kinds[1] else [f"{at}: {kinds[0].__name__} and {kinds[1].__name__}"]


def test_differences_are_seen():
    assert differences({"a": [1]}, {"a": [2.5]}) == []
    assert differences({"a": 1, "b": 2}, {"a": "1"}) == [": only one has b", "/a: float and str"]


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_the_example_request_gives_an_answer_like_the_example(api_database, path, method, operation):
    answer = EXAMPLES.call(EXAMPLES.example_client(SMALL, api_database), path, method, operation)
    assert str(answer.status_code) in operation["responses"], answer.text
    assert answer.is_success, answer.text
    content = operation["responses"][str(answer.status_code)].get("content", {}).get("application/json")
    if answer.headers.get("content-type") != "application/json":
        return
    validator = Draft202012Validator({**content["schema"], "components": DOCUMENT["components"]})
    validator.validate(answer.json())
    validator.validate(content["example"])
    assert differences(content["example"], answer.json()) == []


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_has_its_example(path, method, operation):
    if "requestBody" in operation:
        assert "example" in operation["requestBody"]["content"]["application/json"]
    for status, response in operation["responses"].items():
        if status.startswith("2") and "application/json" in response.get("content", {}):
            assert "example" in response["content"]["application/json"], status
