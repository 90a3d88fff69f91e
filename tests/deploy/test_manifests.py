"""Deployment files: manifests that the API server would take, and the promises that each of them makes."""

import re
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from service.settings import known_variables

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUSTOMIZATION = yaml.safe_load((DEPLOY / "k8s" / "kustomization.yaml").read_text())
OBJECTS = [
    pytest.param(one, id=f"{one['kind']}-{one['metadata']['name']}")
    for name in KUSTOMIZATION["resources"]
    for one in yaml.safe_load_all((DEPLOY / "k8s" / name).read_text())
]
DEPLOYMENTS = [param for param in OBJECTS if param.values[0]["kind"] == "Deployment"]


@pytest.mark.parametrize("one", OBJECTS)
def test_every_object_is_valid(one):
    kubernetes_validate.validate(one, "1.31", strict=True)


def test_the_validator_can_refuse():
    broken = {**DEPLOYMENTS[0].values[0], "spec": {**DEPLOYMENTS[0].values[0]["spec"], "replicas": "three"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.31", strict=True)


@pytest.mark.parametrize("one", DEPLOYMENTS)
def test_pods_may_little_and_are_watched(one):
    pod = one["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        may = container["securityContext"]
        assert may["readOnlyRootFilesystem"]
        assert may["allowPrivilegeEscalation"] is False
        assert may["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= container["resources"]["limits"].keys()
        assert {"livenessProbe", "startupProbe"} <= container.keys()
        secret = next(env for env in container["env"] if env["name"] == "GPUPLAN_DATABASE_URL")
        assert "secretKeyRef" in secret["valueFrom"]


def test_what_selects_pods_finds_them():
    labels = {tuple(one["spec"]["template"]["metadata"]["labels"].items()) for (one,) in (p.values for p in DEPLOYMENTS)}
    kinds = set()
    for (one,) in (param.values for param in OBJECTS):
        spec = one.get("spec", {})
        selector = spec.get("podSelector", spec.get("selector"))
        if one["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy", "Deployment"):
            assert tuple(selector.get("matchLabels", selector).items()) in labels
        kinds.add(one["kind"])
    assert {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy", "HorizontalPodAutoscaler", "ServiceAccount"} <= kinds


def test_compose_runs_replicas_workers_and_a_database_without_privileges():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert services["worker"]["deploy"]["replicas"] == 2
    assert services["api"]["deploy"]["replicas"] >= 3
    for name in ("api", "worker"):
        assert services[name]["read_only"]
        assert services[name]["cap_drop"] == ["ALL"]
    assert all(not str(port).startswith("0.0.0.0") for port in services["proxy"]["ports"])


def test_every_image_is_pinned():
    images = re.findall(r"^\s+image: (\S+)", (DEPLOY / "compose.yaml").read_text(), re.MULTILINE)
    images += re.findall(r"^ARG BASE=(\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert len(images) >= 4
    for image in images:
        assert image == "gpuplan" or re.search(r":\d+\.\d+(\.\d+)?[-\w]*$", image), image


@pytest.mark.parametrize("path", sorted(p for p in DEPLOY.rglob("*") if p.is_file()), ids=lambda p: p.name)
def test_only_settings_that_exist_are_named(path):
    others = {"GPUPLAN_DB_PASSWORD", "GPUPLAN_HYPOTHESIS_PROFILE"}
    named = set(re.findall(r"GPUPLAN_[A-Z0-9_]+[A-Z0-9]", path.read_text(encoding="utf-8")))
    assert named - others <= known_variables()


def test_the_unit_gives_the_service_little():
    unit = (DEPLOY / "systemd" / "gpuplan.service").read_text().splitlines()
    for line in ("DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=", "PrivateTmp=yes"):
        assert line in unit
