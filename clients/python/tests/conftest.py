"""A real service for the tests, on a free port with its own folder, and devices that talk to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tributary
import tributary.client
from proxy import Fault, Proxy
from tributary.round_work import Train

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "dist" / "main.js"
#: Seconds to wait for anything: long, because only a hang should fail, and a busy machine is slow.
PATIENCE = 300.0

# Programs that the tests interrupt would ignore it if this run was started in the background of a script.
signal.signal(signal.SIGINT, signal.default_int_handler)
tributary.client.POLL_SECONDS = 0.1
# A device that could not report itself inactive would be selected for the jobs of later tests.
sys.modules["tributary.run"].GOODBYE_SECONDS = PATIENCE  # type: ignore[attr-defined]


class Service:
    """The service as a process, which can be killed and started again on the same port and data."""

    def __init__(self, home: Path, **settings: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._log = home / "service.log"
        own = {"SERVICE_HOME": str(home), "SERVICE_PORT": str(port), "SERVICE_LOG_LEVEL": "error"}
        foreign = {name: value for name, value in os.environ.items() if not name.startswith("SERVICE_")}
        self._env = {**foreign, **own, "SERVICE_RATE_LIMIT_PER_MINUTE": "100000", **settings}
        self._client: tributary.Client | None = None
        self.start()

    def start(self) -> None:
        program = [str(BUILT)] if BUILT.exists() else ["--import", "tsx", "src/main.ts"]
        with self._log.open("a") as log:
            # Compiling the database a second time, for speed, takes longer than a service lives here.
            self.process = subprocess.Popen(["node", "--liftoff-only", *program], cwd=ROOT, env=self._env, stdout=log, stderr=log)
        until(self.answers, f"the service at {self.url}")

    def answers(self) -> bool:
        assert self.process.poll() is None, self.output
        try:
            return bool(urllib.request.urlopen(f"{self.url}/api/v1/health", timeout=5).status == 200)
        except OSError:
            return False

    def end(self, by: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(by)
        self.process.wait()

    @property
    def output(self) -> str:
        return self._log.read_text()

    @property
    def client(self) -> tributary.Client:
        """With the key of a device that does not train: with open enrollment, it has all rights."""
        if self._client is None:
            key = tributary.Device(self.url, "operator").register(trains=False)
            self._client = tributary.Client(self.url, key)
        return self._client


class Fleet:
    """Devices in separate threads; an exception in one of them fails the test at its end."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.stop = threading.Event()
        self.errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def add(self, device_id: str, train: Train, **options: Any) -> None:
        given = {"interval_seconds": 1, "stop": self.stop, "state_dir": self.folder, "url": self.url, **options}

        def work() -> None:
            try:
                tributary.run(device_id=device_id, train=train, **given)
            except BaseException as error:
                self.errors.append(error)

        self._threads.append(threading.Thread(target=work, name=device_id, daemon=True))
        self._threads[-1].start()

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), f"{thread.name} goes on"


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Wait until the condition is true, and return its value."""
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, f"waited {seconds} s for {what}"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"))
    yield service
    service.end()


@pytest.fixture
def client(service: Service) -> Iterator[tributary.Client]:
    """Stops all jobs at the end, because the jobs of one organization take turns."""
    # Rounds would select devices of earlier tests that were killed, and wait for their plans.
    for device in service.client.devices(status="active"):
        if (name := device.device_identifier) != "operator":
            service.client.request("POST", f"/devices/{name}/erase", {"confirm": name})
    yield service.client
    for status in ("pending", "running"):
        for job in service.client.jobs(status=status):
            job.stop()


@pytest.fixture
def fleet(service: Service, bad_network: object, tmp_path: Path) -> Iterator[Fleet]:
    """Ends before the proxies, through which its devices report themselves inactive."""
    fleet = Fleet(service.url, tmp_path / "fleet")
    yield fleet
    fleet.end()
    assert fleet.errors == []


@pytest.fixture
def bad_network(service: Service) -> Iterator[Callable[[Fault], Proxy]]:
    proxies: list[Proxy] = []

    def open_proxy(fault: Fault) -> Proxy:
        proxies.append(Proxy(service.url, fault))
        return proxies[-1]

    yield open_proxy
    for proxy in proxies:
        proxy.end()


def failure_of(client: tributary.Client, job: tributary.Job, device_id: str) -> str:
    """The reason that a device reported in the first round of the job that has one."""

    def told() -> str | None:
        for each in job.refresh().history:
            for part in client.listed(f"/training/rounds/{each.round_id}/participants", "participants"):
                if part["device_identifier"] == device_id and part["state"] == "failed":
                    return str(part["reason"])
        return None

    return str(until(told, f"the failure of {device_id}"))


def regression(seed: int, rows: int) -> tuple[Any, Any]:
    """Rows of y = x (1, -2, 0.5) + noise, of one device."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 3))
    return x, x @ np.array([1.0, -2.0, 0.5]) + random.normal(scale=0.1, size=rows) + seed / 10


def gradient(w: Any, x: Any, y: Any) -> Any:
    return x.T @ (x @ w.astype("f8") - y) / len(y)
