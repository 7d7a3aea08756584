"""Devices behind a bad network, and a service that is killed."""

from __future__ import annotations

import logging
import os
import resource
import signal
import ssl
import subprocess
import sys
import textwrap
import threading
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tributary
from conftest import PATIENCE, Fleet, Service, failure_of, until
from proxy import Fault, Proxy
from tributary import Client, TributaryError
from tributary.connection import Connection
from tributary.device import State
from tributary.round_work import RoundWork
from tributary.run import _stop_on_terminate

START = np.arange(1000, dtype=np.float32)

OpenProxy = Callable[[Fault], Proxy]


def add_one(weights: Any, plan: Any) -> Any:
    return {"w": weights["w"] + 1}, 1, {"loss": 1.0}


def train_through(client: Client, fleet: Fleet, proxy: Proxy, name: str) -> tributary.Job:
    client.push(name, {"w": START}, "1.0.0")
    fleet.add(name, add_one, url=proxy.url)
    job = client.train(name, rounds=1, min_devices=1).wait(timeout=PATIENCE)
    np.testing.assert_array_equal(job.weights()["w"], START + 1)
    return job


def test_a_download_that_is_cut_goes_on_where_it_stopped(client: Client, fleet: Fleet, bad_network: OpenProxy) -> None:
    proxy = bad_network(lambda method, path, before: "cut" if path.endswith("/model") and before == 0 else None)
    train_through(client, fleet, proxy, "cut")
    ranges = [asked for _, path, asked in proxy.asked if path.endswith("/model")]
    size = len(tributary.write_weights({"w": START}))
    assert ranges == [None, f"bytes={size // 2}-"]


def test_a_model_with_another_hash_is_not_trained_but_fetched_again(
    client: Client, fleet: Fleet, bad_network: OpenProxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = bad_network(lambda method, path, before: "damage" if path.endswith("/model") and before == 0 else None)
    with caplog.at_level(logging.WARNING):
        train_through(client, fleet, proxy, "damaged")
    assert [asked for _, path, asked in proxy.asked if path.endswith("/model")] == [None, None]
    assert "arrived with sha256" in caplog.text


def test_an_update_whose_answer_is_lost_counts_once(client: Client, fleet: Fleet, bad_network: OpenProxy) -> None:
    proxy = bad_network(lambda method, path, before: "lose" if path.endswith("/updates") and before == 0 else None)
    job = train_through(client, fleet, proxy, "lost")
    assert job.history[0].completed_devices == 1
    assert [path.rsplit("/", 1)[1] for method, path, _ in proxy.asked][-2:].count("failures") == 0


def test_what_was_trained_is_submitted_later_and_not_trained_again(
    client: Client, fleet: Fleet, bad_network: OpenProxy
) -> None:
    # More refusals than a call retries.
    proxy = bad_network(lambda method, path, before: "503" if path.endswith("/updates") and before < 9 else None)
    client.push("later", {"w": START}, "1.0.0")
    trained: list[int] = []
    fleet.add("later", lambda w, plan: (trained.append(1), *add_one(w, plan))[1:], url=proxy.url)
    client.train("later", rounds=1, min_devices=1).wait(timeout=PATIENCE)
    assert len(trained) == 1


def test_a_json_object_that_is_not_from_the_service_is_outlasted_everywhere(
    client: Client, fleet: Fleet, bad_network: OpenProxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = bad_network(lambda method, path, before: '200 {"portal": "sign in"}' if before == 0 else None)
    job = train_through(client, fleet, proxy, "portal")
    assert job.history[0].completed_devices == 1
    for what in ("/devices/register", "/heartbeat", "/plan", "/model", "/updates"):
        assert [path.endswith(what) for _, path, _ in proxy.asked].count(True) >= 2, what
    assert "with a JSON object that contains last_heartbeat. Is it the service?" in caplog.text


def test_an_update_whose_answer_is_late_is_not_called_unneeded(
    client: Client, fleet: Fleet, bad_network: OpenProxy, caplog: pytest.LogCaptureFixture
) -> None:
    def is_noticed() -> bool:
        return "needed" in caplog.text or any(path.endswith("/selection") for _, path, _ in proxy.asked)

    def fault(method: str, path: str, before: int) -> str | None:
        if path.endswith("/updates") and before > 0:
            until(is_noticed, "a heartbeat to notice that the round is completed")
        return "lose" if path.endswith("/updates") and before == 0 else None

    proxy = bad_network(fault)
    train_through(client, fleet, proxy, "late")
    assert "no longer needed" not in caplog.text


DITTO = """
    import sys, tributary

    def train(weights, plan):
        print(plan.personal["w"][1], flush=True)
        plan.personal["w"] += 1
        return weights, 3, {}

    sys.modules["tributary.run"].GOODBYE_SECONDS = 300
    tributary.run(sys.argv[1], device_id=sys.argv[2], train=train, interval_seconds=1)
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_ends_before_its_update_is_answered_keeps_the_memory_of_the_job(
    client: Client, bad_network: OpenProxy, tmp_path: Path, by: signal.Signals
) -> None:
    accepted, ended = threading.Event(), threading.Event()

    def fault(method: str, path: str, before: int) -> str | None:
        if not path.endswith("/updates") or ended.is_set():
            return None
        if before == 0:
            return "lose"
        accepted.set()
        assert ended.wait(PATIENCE)
        return "503"

    proxy, name = bad_network(fault), f"memory-{by.name}"
    environment = {**os.environ, "SERVICE_HOME": str(tmp_path), "PYTHONPATH": str(Path(tributary.__file__).parents[1])}
    command = [sys.executable, "-c", textwrap.dedent(DITTO), proxy.url, name]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    client.push(name, {"w": START}, "1.0.0")
    first = start()
    try:
        until(lambda: [d for d in client.devices() if d.device_identifier == name], "the device")
        job = client.train(name, rounds=3, strategy="ditto", min_devices=1)
        assert accepted.wait(PATIENCE)
    finally:
        first.send_signal(by)
    out, _ = first.communicate(timeout=PATIENCE)
    ended.set()
    second = start()
    try:
        assert [each.completed_devices for each in job.wait(timeout=PATIENCE).history] == [1, 1, 1]
    finally:
        second.send_signal(signal.SIGINT)
        more, errors = second.communicate(timeout=PATIENCE)
    assert (out + more).split() == ["1.0", "2.0", "3.0"], errors


@pytest.fixture
def awaited(client: Client, service: Service, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A device whose round awaits it, and its folder of rounds."""
    name = f"awaited-{request.node.name[:20]}"
    client.push(name, {"w": np.zeros(1 << 20, np.float32)}, "1.0.0")
    device = tributary.Device(service.url, name)
    device.register()
    job = client.train(name, rounds=1, min_devices=1)
    round_id = until(lambda: device.heartbeat().pending_round_id, "the round")
    state = State(tmp_path, service.url, name)
    yield device, RoundWork(add_one, None, False, state), round_id, lambda: failure_of(client, job, name)
    device.heartbeat(status="inactive")


def test_a_model_that_cannot_be_written_is_reported_and_is_no_broken_connection(awaited: Any) -> None:
    device, work, round_id, failure = awaited
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            work.take_part(device, round_id, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert failure() == "OSError: [Errno 27] File too large"


def test_a_folder_that_cannot_be_created_is_reported(awaited: Any) -> None:
    device, work, round_id, failure = awaited
    (work.state.rounds / round_id).write_text("")
    with pytest.raises(FileExistsError):
        work.take_part(device, round_id, 1)
    assert failure().startswith("FileExistsError: [Errno 17] File exists: ")


def test_a_killed_service_is_waited_for_and_the_round_goes_on(tmp_path: Path) -> None:
    service = Service(tmp_path)
    client = service.client
    client.push("killed", {"w": START}, "1.0.0")
    fleet = Fleet(service.url, tmp_path / "fleet")
    is_training, may_go_on = threading.Event(), threading.Event()

    def train(weights: Any, plan: Any) -> Any:
        is_training.set()
        assert may_go_on.wait(PATIENCE)
        return add_one(weights, plan)

    try:
        fleet.add("patient", train)
        job = client.train("killed", rounds=2, min_devices=1)
        assert is_training.wait(PATIENCE)
        service.end(by=signal.SIGKILL)
        may_go_on.set()
        service.start()
        np.testing.assert_array_equal(job.wait(timeout=PATIENCE).weights()["w"], START + 2)
        assert [each.status for each in job.history] == ["completed"] * 2
    finally:
        fleet.end()
        service.end()
    assert fleet.errors == []


PROGRAM = """
    import sys, time, tributary

    def train(weights, plan):
        print("training", flush=True)
        time.sleep(300)

    sys.modules["tributary.run"].GOODBYE_SECONDS = 300
    tributary.run(sys.argv[1], device_id=sys.argv[2], train=train)
    print("ended", flush=True)
"""


def test_a_process_that_train_forks_ends_at_sigterm_like_any_other() -> None:
    before = _stop_on_terminate()
    try:
        child = os.fork()
        if child == 0:
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_program_says_so_and_ends_well(
    client: Client, service: Service, tmp_path: Path, by: signal.Signals
) -> None:
    name = f"by-{by.name}"
    client.push(name, {"w": START}, "1.0.0")
    environment = {**os.environ, "SERVICE_HOME": str(tmp_path), "PYTHONPATH": str(Path(tributary.__file__).parents[1])}
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), service.url, name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert program.stdout is not None
    until(lambda: [d for d in client.devices() if d.device_identifier == name], "the device")
    job = client.train(name, rounds=1, min_devices=1)
    assert program.stdout.readline() == "training\n"
    program.send_signal(by)
    out, err = program.communicate(timeout=PATIENCE)
    assert (program.returncode, out) == (0, "ended\n"), err
    assert err.splitlines()[-1].endswith("Stopping.")
    assert failure_of(client, job, name) == "The program was stopped."
    assert client.device(name).status == "inactive"


def test_a_heartbeat_during_training_does_not_make_a_stopped_device_active_again(
    client: Client, fleet: Fleet, bad_network: OpenProxy
) -> None:
    is_training, is_held, may_go_on, stop = (threading.Event() for _ in range(4))

    def hold_one(method: str, path: str, before: int) -> None:
        if method == "PUT" and is_training.is_set() and not is_held.is_set():
            is_held.set()
            assert may_go_on.wait(PATIENCE)

    def train(weights: Any, plan: Any) -> Any:
        is_training.set()
        assert is_held.wait(PATIENCE)
        stop.set()
        return add_one(weights, plan)

    client.push("overtaken", {"w": START}, "1.0.0")
    fleet.add("overtaken", train, url=bad_network(hold_one).url, stop=stop)
    client.train("overtaken", rounds=1, min_devices=1)
    assert is_held.wait(PATIENCE)
    until(lambda: client.device("overtaken").status == "inactive", "the goodbye")
    may_go_on.set()
    until(lambda: (client.device("overtaken").metrics or {}).get("training"), "the heartbeat")
    assert client.device("overtaken").status == "inactive"


def test_what_may_have_been_started_is_not_started_again(
    client: Client, bad_network: OpenProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.push("once", {"w": START}, "1.0.0")
    proxy = bad_network(lambda method, path, before: "lose" if method == "POST" and before == 0 else None)
    afar = tributary.Client(proxy.url, client.connection.key)
    with pytest.raises(TributaryError, match="It may have had its effect") as caught:
        afar.train("once")
    assert caught.value.code == "network_error"
    assert len(client.jobs(model="once")) == 1


def test_a_page_instead_of_the_service_is_noticed() -> None:
    with pytest.raises(ValueError, match="must look like http://127.0.0.1:8000"):
        tributary.Client("127.0.0.1:8000", "key")


def test_nobody_at_the_address_is_said_after_the_last_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tributary.connection.ATTEMPTS", 2)
    with pytest.raises(TributaryError, match="Is the service running and the address right") as caught:
        tributary.Client("http://127.0.0.1:9", "key").models()
    assert (caught.value.code, caught.value.status) == ("network_error", 0)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (20, "set SSL_CERT_FILE to its certificate file"),
        (62, "is for another host"),
        (10, "Renew the service's certificate"),
    ],
)
def test_a_refused_certificate_is_told_from_an_absent_service(
    code: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = ssl.SSLCertVerificationError(1, "certificate verify failed")
    reason.verify_code = code

    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError(reason)

    connection = Connection("https://fleet.example", "key")
    monkeypatch.setattr(connection._opener, "open", refuse)
    with pytest.raises(TributaryError, match=advice) as caught:
        connection.open("POST", "/training/jobs")
    assert not caught.value.may_have_arrived
