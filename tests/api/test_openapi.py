"""The OpenAPI document and the page made of it: complete, true to the running app, and equal to openapi.yaml."""

import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from service.api import openapi_document
from service.api.app import VERSION
from service.api.problems import KINDS

PROJECT = Path(__file__).resolve().parents[2]
DOCUMENT = openapi_document()
OPERATIONS = [
    pytest.param(path, method, operation, id=operation["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def test_the_committed_document_is_the_generated_one():
    committed = yaml.safe_load((PROJECT / "openapi.yaml").read_text(encoding="utf-8"))
    assert committed == DOCUMENT, "run: python tests/api/example_app.py; gpuplan openapi > openapi.yaml"


def test_version_is_the_project_s():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION == DOCUMENT["info"]["version"]
    assert DOCUMENT["openapi"].startswith("3.1")


def test_operation_ids_are_unique_and_in_one_style():
    ids = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"(get|list|make|estimate|refresh|cancel|put|delete)[A-Z][A-Za-z]+", name) for name in ids), ids


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
def test_every_operation_is_told(path, method, operation):
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}
    for status, response in operation["responses"].items():
        assert response["description"]
        if status.startswith(("4", "5")):
            assert list(response["content"]) == ["application/problem+json"]
            assert response["content"]["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert status in {str(kind.status) for kind in KINDS.values()}
    assert {"422", "500"} <= operation["responses"].keys()
    if method in ("post", "put") and "requestBody" in operation:
        assert {"400", "413", "415"} <= operation["responses"].keys()


def test_nothing_of_the_framework_s_own_errors_is_left():
    assert "HTTPValidationError" not in str(DOCUMENT)
    assert not [name for name in DOCUMENT["components"]["schemas"] if name.endswith(("-Input", "-Output"))]


def test_every_reference_leads_somewhere():
    text = str(DOCUMENT)
    names = set(re.findall(r"#/components/schemas/([A-Za-z0-9_.-]+)", text))
    assert names <= DOCUMENT["components"]["schemas"].keys()


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["schemas"]))
def test_every_schema_is_one(name):
    schema = DOCUMENT["components"]["schemas"][name]
    assert validator_for(schema, default=Draft202012Validator) is Draft202012Validator
    Draft202012Validator.check_schema(schema)


class Assets(HTMLParser):
    """Collects what a page would load."""

    def __init__(self):
        super().__init__()
        self.loads = []
        self.ids = set()
        self.links = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in ("script", "img", "link", "iframe", "object", "embed", "source", "video", "audio", "form"):
            self.loads.append((tag, found))
        self.ids.add(found.get("id"))
        if tag == "a":
            self.links.append(found["href"])
        assert not [name for name in found if name.startswith("on") or name == "style"]


def test_the_docs_page_shows_every_operation_and_loads_nothing(client):
    answer = client.get("/docs")
    assert answer.status_code == 200
    page = Assets()
    page.feed(answer.text)
    assert page.loads == []
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            assert operation["operationId"] in page.ids
    assert set(page.links) <= {f"#{name}" for name in page.ids} | {"/openapi.json"}
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http://testserver/plan" in answer.text


def test_the_running_app_gives_the_same_document(client):
    assert client.get("/openapi.json").json() == DOCUMENT
