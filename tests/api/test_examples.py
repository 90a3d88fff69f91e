"""Each example request is accepted by the running app, and what comes back has the shape of the example answer."""

import pytest
from jsonschema import Draft202012Validator

from service.api import openapi_document

DOCUMENT = openapi_document()


def filled_path(path, operation):
    for one in operation.get("parameters", []):
        if one["in"] == "path":
            path = path.replace("{" + one["name"] + "}", str(one["schema"]["examples"][0]))
        elif one.get("required"):
            path += ("&" if "?" in path else "?") + f"{one['name']}={one['schema']['examples'][0]}"
    return path


def calls():
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            yield pytest.param(
                filled_path(path, operation), method, operation, content.get("example"), id=operation["operationId"]
            )


def told(operation):
    (status,) = [status for status in operation["responses"] if status.startswith("2")]
    return int(status), operation["responses"][status].get("content", {}).get("application/json")


def differences(example, given, at=""):
    """Where two values differ in shape: names of objects, kinds of values; null matches anything, lists by their first."""
    if example is None or given is None:
        return []
    if isinstance(example, dict) and isinstance(given, dict):
        found = [f"{at}: only one has {name}" for name in example.keys() ^ given.keys()]
        return found + [
            text for name in example.keys() & given.keys() for text in differences(example[name], given[name], f"{at}/{name}")
        ]
    if isinstance(example, list) and isinstance(given, list):
        return differences(example[0], given[0], f"{at}/0") if example and given else []
    kinds = [float if isinstance(one, int) and not isinstance(one, bool) else type(one) for one in (example, given)]
    return [] if kinds[0] is kinds[1] else [f"{at}: {kinds[0].__name__} and {kinds[1].__name__}"]


@pytest.mark.parametrize(("path", "method", "operation", "body"), list(calls()))
def test_the_example_request_gives_an_answer_like_the_example(example_client, path, method, operation, body):
    if method in ("post", "put") and "requestBody" in operation:
        assert body is not None, "no example request"
    answer = example_client.request(method, path, json=body) if body is not None else example_client.request(method, path)
    status, content = told(operation)
    assert answer.status_code == status, answer.text
    if content is None or status == 204:
        return
    assert "example" in content, "no example answer"
    schema = {**content["schema"], "components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(answer.json())
    Draft202012Validator(schema).validate(content["example"])
    assert differences(content["example"], answer.json()) == []
