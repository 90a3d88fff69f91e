"""The image: its steps by script, and the result run by a user without rights on a tree that cannot be written to."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import pytest

PROJECT = Path(__file__).resolve().parents[2]
NOBODY = 65534
PACKAGES = Path(httpx.__file__).resolve().parents[1]


def without_rights(command, **how):
    """The command as a user of no group and without a capability."""
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    return [*drop, "--no-new-privs", *command]


@pytest.fixture(scope="module")
def interpreter():
    """A Python of this version that any user can start."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root can become a user without rights")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for one in (str(Path(sys.executable).resolve()), f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if Path(one).exists():
            asked = [one, "-c", "import numpy, fastapi"]
            done = subprocess.run(
                without_rights(asked),
                env={"PYTHONPATH": str(PACKAGES), "PATH": "/usr/bin"},
                cwd="/",
                capture_output=True,
                check=False,
            )
            if done.returncode == 0:
                return one
    pytest.skip(f"no {version} that another user can start with these packages")


@pytest.fixture
def folder():
    """A folder that every user may look into: pytest closes its own to others."""
    with tempfile.TemporaryDirectory(prefix="gpuplan-image-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture
def app(interpreter, folder):
    """What the image holds under /opt/gpuplan, made by the image's own step."""
    command = ["sh", str(PROJECT / "deploy" / "image.sh"), "program", str(PROJECT), "unused", str(folder / "app")]
    done = subprocess.run(command, env={**os.environ, "PYTHON": interpreter}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "app"


def test_the_image_holds_the_program_only(app):
    assert sorted(one.name for one in app.iterdir()) == ["bin", "providers", "service"]
    assert (app / "service" / "api" / "examples.json").is_file()
    assert (app / "providers" / "gpus.csv").is_file()
    writable = [one for one in app.rglob("*") if one.stat().st_mode & 0o022 and not one.is_symlink()]
    assert writable == []


def test_it_serves_as_nobody_from_a_read_only_tree(app, folder):
    data = folder / "data"
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "PATH": "/usr/bin:/bin", "PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent",
        "XDG_DATA_HOME": str(data), "GPUPLAN_PORT": str(port),
        **{f"GPUPLAN_PROVIDERS__{name}__ENABLED": "false" for name in ("RUNPOD", "VAST", "LAMBDA", "AWS", "AZURE")},
    }  # fmt: skip
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace can be made here")
    read_only = f"mount --bind {app} {app} && mount -o remount,ro,bind {app} && exec " + " ".join(
        without_rights([str(app / "bin" / "gpuplan"), "serve"])
    )
    log = folder / "image.log"
    with log.open("w") as told:
        process = subprocess.Popen(["unshare", "-m", "sh", "-c", read_only], env=environment, cwd="/", stderr=told)
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        assert answer.status_code == 200, log.read_text()
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert f"Uid:\t{NOBODY}" in status
        assert "CapEff:\t0000000000000000" in status
        assert (data / "gpuplan" / "prices.db").stat().st_uid == NOBODY
    finally:
        process.terminate()
        process.wait(30)


def test_a_real_build(tmp_path):
    docker = shutil.which("docker") or shutil.which("podman")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False, timeout=60).returncode != 0:
        pytest.skip("no container daemon answers here")
    build = [docker, "build", "-q", "-f", str(PROJECT / "deploy" / "Dockerfile"), str(PROJECT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr
