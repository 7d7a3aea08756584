"""A device: its identity and its API calls."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import re
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .connection import Connection, Json, home, quote
from .errors import TributaryError, network_error
from .plan import Plan, plan_of, timestamp

log = logging.getLogger("tributary")

MAX_REASON = 2000
INVENTED_NAMES = 3
SECURE_WAIT_SECONDS = 25
#: The fields of a secure round's state.
SECURE_FIELDS = (
    *("round_id", "status", "reason", "settings", "device_id"),
    *("counted", "answered", "roster", "shares", "delivered"),
)
#: The status of a secure round in which each message is expected.
SECURE_STEPS = {"keys": "advertising", "shares": "sharing", "unmask": "unmasking"}


@dataclass(frozen=True)
class Heartbeat:
    """The response to a heartbeat."""

    #: The round that awaits this device, if any.
    pending_round_id: str | None
    #: Seconds until the next heartbeat, as the service requests; None if it does not say.
    next_heartbeat_seconds: float | None
    #: The versions that this device should run; None if they are unchanged since the last heartbeat.
    assignments: list[Json] | None
    #: The round whose new model this device should evaluate, if it offered to.
    pending_evaluation_round_id: str | None = None
    #: Whether the versions have changed. The service holds no response with such news, so the next heartbeat should follow soon.
    is_news: bool = False


class Device:
    """The API calls of one device, each retried as in `Connection.retrying`. Raises TributaryError."""

    def __init__(self, url: str, device_id: str, *, api_key: str | None = None, stop: threading.Event | None = None):
        self.device_id = device_id
        self.connection = Connection(url, api_key, stop, outlasts_others=True)
        self._clock_lead = 0.0
        self._assignments_tag = ""
        #: Sent with the next heartbeat: they may have changed since the device was registered.
        self.capabilities: Mapping[str, Any] | None = None
        #: Sent too: a device that was admitted by a join code does not train until it says so.
        self.trains: bool | None = None

    def register(
        self,
        *,
        enrollment_token: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        trains: bool = True,
    ) -> str:
        """Register and return the key, which is shown only once. With `trains` false, no round selects the device."""
        self.connection.key = enrollment_token
        body = {
            "device_id": self.device_id,
            "platform": "python",
            "capabilities": dict(capabilities or {}),
            "trains": trains,
        }
        answer = self.connection.call("POST", "/devices/register", body, expects=("api_key",))
        self.connection.key = key = str(answer["api_key"])
        return key

    def join(self, code: str) -> str:
        """Register with a code of `svc devices invite`, with or without the address after it, and return the key."""
        body = {"code": code.partition("@")[0], "device_id": self.device_id, "platform": "python"}
        answer = self.connection.call("POST", "/pairings/claim", body, expects=("api_key",))
        self.connection.key = key = str(answer["api_key"])
        return key

    def heartbeat(
        self,
        metrics: Mapping[str, Any] | None = None,
        *,
        wait_seconds: float = 0,
        status: str | None = "active",
        until: float | None = None,
    ) -> Heartbeat:
        """Send a heartbeat. The service may hold the response for `wait_seconds` (at most 55) until a round starts.

        With `status=None`, the device's status stays as it is.
        """
        sent_at = time.time()
        answer = self.connection.call(
            "PUT",
            f"/devices/{quote(self.device_id)}/heartbeat",
            {
                **({} if status is None else {"status": status}),
                "metrics": dict(metrics or {}),
                **({} if self.capabilities is None else {"capabilities": dict(self.capabilities)}),
                **({} if self.trains is None else {"trains": self.trains}),
            },
            query={"wait_seconds": wait_seconds, "known_assignments": self._assignments_tag},
            timeout=wait_seconds + 30,
            until=until,
            expects=("last_heartbeat",),
        )
        self.capabilities = self.trains = None
        reading = timestamp("last_heartbeat", answer["last_heartbeat"])
        self._clock_lead = _surely_ahead(reading, sent_at, time.time())
        known, self._assignments_tag = self._assignments_tag, answer.get("assignments_tag", self._assignments_tag)
        assignments = None if known and known == self._assignments_tag else answer.get("assignments", [])
        return Heartbeat(
            answer.get("pending_round_id"),
            answer.get("next_heartbeat_seconds"),
            assignments,
            answer.get("pending_evaluation_round_id"),
            known != self._assignments_tag,
        )

    def unstoppable(self) -> Device:
        """The same device with a separate connection, which continues when this one is stopped."""
        return Device(self.connection.url, self.device_id, api_key=self.connection.key)

    def plan(self, round_id: str) -> Plan:
        return plan_of(self.connection.call("GET", f"/training/rounds/{round_id}/plan"), self._clock_lead)

    def download_model(self, plan: Plan, target: Path) -> bool:
        """Download the plan's global model, resuming a partial file. Returns False if the round has no model."""
        return self._download(plan, "model", target)

    def download_control(self, plan: Plan, target: Path) -> bool:
        """Download SCAFFOLD's control variate in the same way. Returns False if there is none."""
        return self._download(plan, "control", target)

    def submit(
        self,
        plan: Plan,
        weights: bytes,
        num_samples: int,
        *,
        loss: float | None = None,
        accuracy: float | None = None,
        training_time_seconds: float | None = None,
        control: bytes | None = None,
        metrics: Mapping[str, float] | None = None,
        evaluation: tuple[int, Mapping[str, float]] | None = None,
        final_model: bool = False,
    ) -> str | None:
        """Submit an update. Returns its id, or None if the service already had it and only the response was lost.

        `metrics` are those of the trained model besides loss and accuracy; `evaluation` is the number of samples and
        the metrics of the received model on held-out data. With `final_model`, the device also offers to evaluate the
        job's last model, which a heartbeat's `pending_evaluation_round_id` then requests. In a private round neither is
        sent, because its noise does not cover them.
        """
        fields = {"num_samples": str(num_samples)}
        if loss is not None:
            fields["local_loss"] = repr(loss)
        if accuracy is not None:
            fields["local_accuracy"] = repr(accuracy)
        if training_time_seconds is not None:
            fields["training_time_seconds"] = str(round(training_time_seconds))
        if "privacy" not in plan.raw:
            if metrics:
                fields["metrics"] = json.dumps(dict(metrics))
            if evaluation is not None and evaluation[1]:
                told = {"num_samples": evaluation[0], "metrics": dict(evaluation[1]), "final_model": final_model}
                fields["evaluation"] = json.dumps(told)
        files = {"control": ("control", control)} if control is not None else {}
        # The extension declares a raw vector.
        files["file"] = (f"update.{'f32' if plan.raw_vector else 'safetensors'}", weights)
        path = f"/training/rounds/{plan.round_id}/updates"
        try:
            return str(self.connection.submit(path, fields, files, plan.timeout_at, expects=("id", "round_id"))["id"])
        except TributaryError as error:
            # An earlier attempt may have arrived although its response did not; that update counts, so this is success.
            # A service that refuses early may also end the upload before its response can be read.
            if error.status in (0, 409) and self.has_delivered(plan.round_id):
                return None
            raise

    def has_delivered(self, round_id: str) -> bool:
        """Whether the service accepted this device's update for the round. Raises TributaryError if that is unknown."""
        path = f"/training/rounds/{round_id}/selection"
        try:
            return bool(self.connection.call("GET", path, expects=("round_id", "state"))["state"] == "delivered")
        except TributaryError as error:
            if error.is_passing or error.status == 401:
                raise
            return False

    def evaluation_plan(self, round_id: str) -> Plan:
        """The plan for `pending_evaluation_round_id`: without training, and with the `strategy` "evaluation"."""
        body = self.connection.call("GET", f"/training/rounds/{round_id}/evaluation")
        return plan_of({"strategy": "evaluation", **body}, self._clock_lead)

    def submit_evaluation(
        self,
        plan: Plan,
        num_samples: int = 1,
        metrics: Mapping[str, float] | None = None,
        *,
        failure_reason: str | None = None,
    ) -> None:
        """Report the metrics of the new model on this device's held-out data, or why there are none."""
        body: Json = {"num_samples": num_samples, "metrics": dict(metrics or {})}
        if failure_reason is not None:
            body = {"failure_reason": _reason(failure_reason)}
        path = f"/training/rounds/{plan.round_id}/evaluation"
        self.connection.call("POST", path, body, until=plan.timeout_at, expects=("round_id",))

    def report_failure(self, round_id: str, reason: str, until: float | None = None) -> bool:
        """Report that this device will not submit an update. Returns False if the round no longer awaits one."""
        body = {"reason": _reason(reason)}
        try:
            path = f"/training/rounds/{round_id}/failures"
            self.connection.call("POST", path, body, until=until, expects=("id", "round_number"))
            return True
        except TributaryError as error:
            if error.status in (404, 409):
                return False
            raise

    def round_status(self, round_id: str) -> str:
        """The status of the round: pending, active, aggregating, completed, or failed."""
        path = f"/training/rounds/{round_id}/status"
        return str(self.connection.call("GET", path, expects=("id", "status"))["status"])

    def secure_state(self, plan: Plan, known_status: str | None = None) -> Json:
        """The state of a secure round. With `known_status`, the service may hold the response until it differs."""
        return self._secure_state(
            "GET",
            plan,
            query={"known_status": known_status, "wait_seconds": SECURE_WAIT_SECONDS if known_status else None},
            timeout=SECURE_WAIT_SECONDS + 30,
        )

    def send_secure(self, plan: Plan, step: str, message: Json) -> Json:
        """Send this device's message of a step ("keys", "shares", or "unmask"). Returns the state of the round."""
        try:
            return self._secure_state("POST", plan, f"/{step}", message)
        except TributaryError as error:
            if error.status != 409:
                raise
            # An earlier attempt may have arrived although its response did not.
            state = self.secure_state(plan)
            is_waiting = state["status"] == SECURE_STEPS[step]
            if state["answered"] if is_waiting else state["counted"] and state["status"] != "failed":
                return state
            raise

    def _secure_state(self, method: str, plan: Plan, step: str = "", body: Json | None = None, **options: Any) -> Json:
        path = f"/training/rounds/{plan.round_id}/secure{step}"
        state = self.connection.call(method, path, body, until=plan.timeout_at, expects=SECURE_FIELDS, **options)
        if state["round_id"] != plan.round_id:
            raise network_error(f"The service sent the state of round {state['round_id']}, not of {plan.round_id}.")
        return state

    def _download(self, plan: Plan, what: str, target: Path) -> bool:
        file = plan.model if what == "model" else plan.control
        if file is None:
            return False
        step = "evaluation/" if plan.strategy == "evaluation" else ""
        path = f"/training/rounds/{plan.round_id}/{step}{what}"
        self.connection.download(path, target, file.size_bytes, file.sha256, plan.timeout_at)
        return True


class State:
    """A device's folder: `identity.json`, readable by its owner only, `rounds/` for work in progress, and the state of
    jobs.

    `svc agent` uses the same folder for the same service and device, so both share one registration.
    """

    def __init__(self, folder: Path | None, url: str, device_id: str | None) -> None:
        digest = hashlib.sha256(f"{url.rstrip('/')}\n{device_id or ''}".encode()).hexdigest()
        self.folder = (folder or home()) / "devices" / digest[:16]
        self.rounds = self.folder / "python-rounds"
        self.jobs = self.folder / "python-jobs"
        for path in (self.rounds, self.jobs):
            # With `parents`, others could read the folders above.
            for each in (*reversed(path.parents), path):
                each.mkdir(exist_ok=True, mode=0o700)
        self.num_samples = self.folder / "python-num-samples"
        self._path = self.folder / "identity.json"

    def load(self) -> tuple[str, str] | None:
        """The device id and key, or None if this machine is not registered."""
        try:
            identity = json.loads(self._path.read_text())
            return str(identity["device_id"]), str(identity["api_key"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            message = f"{self._path} is damaged. Delete it to register this device again under another device id."
            raise ValueError(message) from None

    def save(self, url: str, device_id: str, key: str) -> None:
        identity = {"base_url": url, "device_id": device_id, "api_key": key}
        write_whole(self._path, f"{json.dumps(identity, indent=2)}\n".encode())


def sign_in(
    url: str,
    state: State,
    *,
    device_id: str | None,
    api_key: str | None,
    join_code: str | None,
    enrollment_token: str | None,
    capabilities: Mapping[str, Any] | None,
    stop: threading.Event,
) -> Device:
    """The device of this program: from the given key, the stored key, or a new registration."""

    def described(device: Device) -> Device:
        device.capabilities, device.trains = capabilities, True
        return device

    if api_key is not None:
        if device_id is None:
            raise ValueError("A device key belongs to one device: pass its device_id too.")
        return described(Device(url, device_id, api_key=api_key, stop=stop))
    known = state.load()
    if known is not None:
        return described(Device(url, known[0], api_key=known[1], stop=stop))
    if join_code is not None:
        device = Device(url, device_id or invent_device_id(), stop=stop)
        state.save(url, device.device_id, device.join(join_code))
        log.info("Joined %s as %s.", url, device.device_id)
        return described(device)
    for names in range(INVENTED_NAMES):
        device = Device(url, device_id or invent_device_id(), stop=stop)
        try:
            key = device.register(enrollment_token=enrollment_token, capabilities=capabilities)
        except TributaryError as error:
            if error.status == 401 and enrollment_token is None:
                asked = (
                    "pass a code of svc devices invite as join_code, or a key with devices:write as enrollment_token, "
                    "or run svc login."
                )
                raise TributaryError(error.code, f"{url} admits devices by token: {asked}", 401) from None
            if error.status != 409:
                raise
            # A generated name may be taken because the response to an earlier attempt was lost, and the key with it.
            if device_id is None and names + 1 < INVENTED_NAMES:
                continue
            message = (
                f"Device '{device.device_id}' is already registered with {url}, and its key is not on this machine. "
                "Choose another device id, or give the key that this device was registered with."
            )
            raise TributaryError("conflict", message, 409) from None
        state.save(url, device.device_id, key)
        log.info("Registered with %s as %s.", url, device.device_id)
        break
    return device


def register_again(
    device: Device, state: State, *, enrollment_token: str | None, capabilities: Mapping[str, Any] | None
) -> None:
    """Register under the same name, which a reinstalled service accepts. Raises its refusal; the old key then remains,
    because the service may accept it again, for example, if it was temporarily running on a different database."""
    renewed = Device(device.connection.url, device.device_id, stop=device.connection.stop)
    key = renewed.register(enrollment_token=enrollment_token, capabilities=capabilities)
    state.save(device.connection.url, device.device_id, key)


def invent_device_id() -> str:
    name = re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().lower())[:40]
    return f"{name or 'device'}-{secrets.token_hex(4)}"


def describe_machine() -> Json:
    return {"cpu": platform.processor() or platform.machine(), "cpu_count": os.cpu_count()}


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically, readable by its owner only: after a crash it has either the old or the new content."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _reason(text: str) -> str:
    """A reason as the service takes it. Any text: an error may quote the bytes of a file, or of its name."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text.strip())[:MAX_REASON] or "no reason given"


def _surely_ahead(reading: float, sent: float, received: float) -> float:
    """How far the other clock is ahead, at least: its `reading` was taken between `sent` and `received`."""
    return reading - received if reading > received else min(0.0, reading - sent)
