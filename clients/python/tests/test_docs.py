"""Runs the programs in docs/python.md unchanged."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import PATIENCE, ROOT, Service, until
from proxy import Fault, Proxy
from tributary import Client, Job

PAGE = (ROOT / "docs" / "python.md").read_text()


def blocks(heading: str, service: Service) -> list[str]:
    """The Python blocks under a heading, for this service."""
    section = re.split(r"^## ", PAGE.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    found = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    return [block.replace("http://127.0.0.1:8000", service.url) for block in found]


def run(program: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "SERVICE_HOME": str(folder), "PYTHONPATH": str(ROOT / "clients" / "python")}
    environment |= {"KERAS_BACKEND": "torch", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    )


def trained_by(
    client: Client, program: subprocess.Popen[str], device_id: str, train: Callable[[], Job], ends: int = 0
) -> Job:
    """The job that `train` starts once the program's device is registered; the program is then interrupted."""
    try:
        until(
            lambda: program.poll() is not None or device_id in {d.device_identifier for d in client.devices()},
            device_id,
        )
        job = train().wait(timeout=PATIENCE)
    finally:
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == ends, errors
    # The loop without the package does not report itself inactive, and would be selected for the jobs of later tests.
    client.request("PUT", f"/devices/{device_id}/heartbeat", {"status": "inactive"})
    return job


def test_the_ten_lines_train_and_are_interrupted(service: Service, client: Client, tmp_path: Path) -> None:
    device, operator = blocks("A device in ten lines", service)
    waiting = run(device, tmp_path)
    until(lambda: "kitchen" in {d.device_identifier for d in client.devices()}, "the device")
    out, errors = run(operator, tmp_path).communicate(timeout=PATIENCE)
    loss = float(out.split()[0])
    assert 0 < loss < 0.5, errors
    waiting.send_signal(signal.SIGINT)
    _, errors = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0 and "Stopping." in errors


def test_the_loop_without_the_package_trains_on_a_bad_network(
    service: Service, client: Client, bad_network: Callable[[Fault], Proxy], tmp_path: Path
) -> None:
    def fault(method: str, path: str, before: int) -> str | None:
        return {0: "cut", 1: "429"}.get(before) if path.endswith("/heartbeat") else None

    proxy = bad_network(fault)
    proxy.retry_after = "Thu, 01 Jan 2026 00:00:00 GMT"
    (program,) = blocks("Without the package", service)
    client.push("plain", {"w": np.zeros((2, 2), "f4"), "b": np.zeros(1, "f4")}, "1.0.0")
    loop = run(program, tmp_path, proxy.url, "plain")
    job = trained_by(client, loop, "plain", lambda: client.train("plain", rounds=2, min_devices=1), ends=-signal.SIGINT)
    np.testing.assert_allclose(job.weights()["w"], np.full((2, 2), 0.19), rtol=1e-6)


@pytest.mark.parametrize(
    ("heading", "name", "strategy"),
    [
        ("PyTorch", "torch", "fedavg"),
        ("PyTorch", "torch", "fedprox"),
        ("PyTorch", "torch", "scaffold"),
        ("Keras", "keras", "fedavg"),
        ("scikit-learn", "sklearn", "fedavg"),
        ("XGBoost", "xgboost", "xgb_bagging"),
    ],
)
def test_frameworks_train_where_they_are_installed(
    service: Service, client: Client, tmp_path: Path, heading: str, name: str, strategy: str
) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    (device,) = blocks(heading, service)
    device_id = f"{name}-{strategy}"
    program = run(device.replace(f'device_id="{name}"', f'device_id="{device_id}"'), tmp_path)
    job = trained_by(
        client,
        program,
        device_id,
        lambda: client.train(f"{name}-model", rounds=3, min_devices=1, strategy=strategy),
    )
    assert (job.history[-1].accuracy or 0) > 0.6
