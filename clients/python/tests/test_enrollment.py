"""Who can register, and where the key is stored."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tributary
from conftest import PATIENCE, Fleet, Service, until
from proxy import Fault, Proxy
from tributary import Client, TributaryError
from tributary.lock import FolderLock


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Client]]:
    """A service with token enrollment, and an admin's client."""
    service = Service(tmp_path_factory.mktemp("guarded"), SERVICE_ENROLLMENT="token")
    # It is printed once the service accepts connections.
    key = until(lambda: re.search(r"sk_live_\w{32}", service.output), "the admin key")
    yield service, Client(service.url, key[0])
    service.end()


NO_KEY = "sk_live_" + "0" * 32


def no_training(weights: Any, plan: Any) -> Any:
    raise AssertionError("there is no round")


def test_an_alias_that_needs_an_approval_is_not_moved(guarded: tuple[Service, Client]) -> None:
    service, admin = guarded
    admin.request("POST", "/orgs", {"name": "strict", "compliance": "pci"})
    scopes = ["models:read", "models:write"]
    created = admin.request("POST", "/keys", {"name": "ci", "org_id": "strict", "scopes": scopes})
    client = Client(service.url, created["api_key"])
    client.push("scorer", {"w": np.ones(1)}, "1.0.0")
    with pytest.raises(TributaryError, match="^Move the alias 'production' of 'scorer' .* approval of another admin") as caught:
        client.promote("scorer", "1.0.0", "production")
    assert (caught.value.code, caught.value.status, caught.value.is_passing) == ("pending_approval", 202, False)


def test_a_token_admits_a_device_once_and_its_key_is_kept_for_the_owner_only(
    guarded: tuple[Service, Client], tmp_path: Path
) -> None:
    service, admin = guarded
    with pytest.raises(TributaryError) as caught:
        tributary.run(service.url, device_id="kitchen", train=no_training, state_dir=tmp_path)
    assert caught.value.status == 401
    assert "pass a code of svc devices invite as join_code" in caught.value.message
    token = admin.request("POST", "/keys", {"name": "enrolls", "scopes": ["devices:write"]})["api_key"]
    stop = threading.Event()
    home = tmp_path / "new"
    fleet = Fleet(service.url, home)
    fleet.add("kitchen", no_training, enrollment_token=token)
    until(lambda: [each.device_identifier for each in admin.devices()] == ["kitchen"], "the device")
    fleet.end()
    assert fleet.errors == []
    (identity,) = home.glob("devices/*/identity.json")
    assert identity.stat().st_mode & 0o777 == 0o600

    def gpu() -> Any:
        return admin.request("GET", "/devices/kitchen")["capabilities"].get("gpu")

    assert gpu() is None
    again = Fleet(service.url, home)
    again.add("kitchen", no_training, capabilities={"gpu": True})
    until(gpu, "what it reports after a restart")
    again.end()
    assert again.errors == []
    assert {each.stat().st_mode & 0o777 for each in (home, home / "devices", identity.parent)} == {0o700}
    kept = json.loads(identity.read_text())
    assert (kept["base_url"], kept["device_id"]) == (service.url, "kitchen")
    # Without a token: the stored key is used.
    admin.push("guarded", {"w": np.zeros(1, "f4")}, "1.0.0")
    again = Fleet(service.url, home)
    again.add("kitchen", lambda weights, plan: (weights, 1, {}), rounds=1)
    assert admin.train("guarded", rounds=1, min_devices=1).wait(timeout=PATIENCE).status == "completed"
    again.end()
    assert (again.errors, stop.is_set()) == ([], False)


def test_a_join_code_admits_a_device_that_trains(guarded: tuple[Service, Client], tmp_path: Path) -> None:
    service, admin = guarded
    code = admin.request("POST", "/pairings", {})["code"]
    admin.push("joined", {"w": np.zeros(1, "f4")}, "1.0.0")
    job = admin.train("joined", rounds=1, min_devices=1)
    # As `svc devices invite` prints it. The second start has no use for the code.
    for _ in range(2):
        fleet = Fleet(service.url, tmp_path)
        fleet.add("porch", lambda weights, plan: (weights, 1, {}), join_code=f"{code}@{service.url}")
        assert job.wait(timeout=PATIENCE).status == "completed"
        fleet.end()
        assert fleet.errors == []
    assert admin.device("porch").platform == "python"
    with pytest.raises(TributaryError, match="has been used"):
        tributary.run(service.url, device_id="other", train=no_training, state_dir=tmp_path, join_code=code)


def test_a_name_that_is_taken_elsewhere_is_refused(service: Service, tmp_path: Path) -> None:
    key = tributary.Device(service.url, "taken").register()
    with pytest.raises(
        TributaryError, match="is already registered with .*, and its key is not on this machine"
    ) as caught:
        tributary.run(service.url, device_id="taken", train=no_training, state_dir=tmp_path)
    assert (caught.value.code, caught.value.status) == ("conflict", 409)
    fleet = Fleet(service.url, tmp_path)
    fleet.add("taken", no_training, api_key=key)
    until(lambda: service.client.device("taken").last_heartbeat, "the heartbeat")
    fleet.end()
    assert fleet.errors == []


def test_a_service_that_was_set_up_anew_gets_the_device_again(service: Service, tmp_path: Path) -> None:
    state = tributary.device.State(tmp_path, service.url, "returning")
    state.save(service.url, "returning", NO_KEY)
    fleet = Fleet(service.url, tmp_path)
    fleet.add("returning", no_training)
    until(lambda: [d for d in service.client.devices() if d.device_identifier == "returning"], "the device")
    fleet.end()
    assert fleet.errors == []
    assert state.load() not in (None, ("returning", NO_KEY))


def test_a_key_that_cannot_be_replaced_is_kept_and_tried_again(
    service: Service, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    key = tributary.Device(service.url, "elsewhere").register()
    state = tributary.device.State(fleet.folder, service.url, "elsewhere")
    state.save(service.url, "elsewhere", NO_KEY)
    with caplog.at_level(logging.INFO):
        fleet.add("elsewhere", no_training)
        until(lambda: "Registering again is not possible" in caplog.text, "the warning")
        assert state.load() == ("elsewhere", NO_KEY)
        state.save(service.url, "elsewhere", key)
        until(lambda: service.client.device("elsewhere").last_heartbeat, "the heartbeat")
    assert [line.levelname for line in caplog.records] == ["INFO", "WARNING"]


def test_a_device_that_is_erased_while_its_heartbeat_is_held_is_treated_like_one_whose_key_is_refused(
    fleet: Fleet, bad_network: Callable[[Fault], Proxy], caplog: pytest.LogCaptureFixture
) -> None:
    gone = '404 {"error": "not_found", "message": "The device does not exist.", "status_code": 404}'
    proxy = bad_network(lambda method, path, before: gone if path.endswith("/heartbeat") and before == 1 else None)
    fleet.add("erased", no_training, url=proxy.url)
    until(lambda: sum(path.endswith("/heartbeat") for _, path, _ in proxy.asked) > 3, "heartbeats after the erasure")
    assert "Registering again is not possible" in caplog.text


def test_a_status_that_is_not_from_the_service_costs_no_key(
    service: Service, fleet: Fleet, bad_network: Callable[[Fault], Proxy]
) -> None:
    # A captive portal: before the device is registered, and twice later.
    asked: list[str] = []
    proxy = bad_network(
        lambda method, path, before: (asked.append(path), "401" if len(asked) in (1, 2, 5, 6) else None)[1]
    )
    fleet.add("traveler", no_training, url=proxy.url)
    until(lambda: len(asked) > 8, "requests after the last refusal")
    assert [path.rsplit("/", 1)[1] for path in asked] == ["register"] * 3 + ["heartbeat"] * (len(asked) - 3)
    assert service.client.device("traveler").status == "active"


def test_a_device_folder_is_used_by_one_program(service: Service, fleet: Fleet) -> None:
    fleet.add("once", no_training)
    until(lambda: [d for d in service.client.devices() if d.device_identifier == "once"], "the device")
    folder = tributary.device.State(fleet.folder, service.url, "once").folder
    with pytest.raises(TributaryError, match=f"{folder} is in use by process {os.getpid()} on ") as caught:
        tributary.run(service.url, device_id="once", train=no_training, state_dir=fleet.folder)
    assert caught.value.code == "conflict"
    fleet.end()
    assert not (folder / "agent.lock").exists()


@pytest.mark.parametrize("left", ["", "{dead} {host} x", "{own} {host} x"], ids=["empty", "dead", "own number"])
def test_the_lock_of_a_dead_program_is_taken_over(tmp_path: Path, left: str) -> None:
    program = subprocess.Popen([sys.executable, "-c", ""])
    program.wait()
    lock = tmp_path / "agent.lock"
    lock.write_text(left.format(dead=program.pid, own=os.getpid(), host=socket.gethostname()))
    if left == "":
        # Nobody can be looked up: it counts as dead when it is not renewed.
        with pytest.raises(TributaryError, match="is in use by another process"), FolderLock(tmp_path):
            pass
        os.utime(lock, (0, 0))
    with FolderLock(tmp_path):
        assert lock.read_text().startswith(f"{os.getpid()} ")
    assert not lock.exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_the_lock_of_a_program_that_ended_is_taken_over_before_its_parent_asks_for_its_status(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as program:
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        (tmp_path / "agent.lock").write_text(f"{program.pid} {socket.gethostname()} x")
        with FolderLock(tmp_path):
            pass


def test_an_operator_needs_no_key_where_enrollment_is_open(
    service: Service, guarded: tuple[Service, Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path))
    monkeypatch.delenv("SERVICE_API_KEY", raising=False)
    assert Client(service.url).connection.key == Client(service.url).connection.key
    with pytest.raises(TributaryError, match="sign in with svc login"):
        Client(guarded[0].url)
    signed_in = {"api_base": guarded[0].url, "org_id": None, "api_key": guarded[1].connection.key}
    (tmp_path / "credentials.json").write_text(
        json.dumps({"api_key": "x", "api_base": "http://other", "others": [signed_in]})
    )
    assert Client(guarded[0].url).org == "default"
