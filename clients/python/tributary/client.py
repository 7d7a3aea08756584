"""The API client: models, training jobs, devices, and deliveries as plain objects."""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from . import records
from .connection import Connection, Json, hex_of, home, plain, quote, sha256_of
from .device import Device, State
from .errors import TributaryError, network_error
from .records import Deployment, DeviceRecord, ListedDevice, Model, Version
from .weights import NotArrays, Weights, read_weights, to_torch, write_weights

log = logging.getLogger("tributary")

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8000"
#: Uploads of larger files are resumable.
RESUMABLE_FROM = 8 * 1024 * 1024
PAGE = 100
#: How often `Job.wait` fetches the job: after the first minute, several can wait within a key's limit of 100 requests per
#: minute.
POLL_SECONDS = 1.0
SLOW_POLL_SECONDS = 5.0
FAST_POLL_PERIOD_SECONDS = 60.0
#: How long `pull` waits for a conversion.
CONVERSION_SECONDS = 600.0
_NESTED: dict[type, dict[str, type]] = {Model: {"versions": Version}, records.Job: {"history": records.JobRound}}


def record(kind: type[T], body: Json, **more: Any) -> T:
    """A response as an object. Fields unknown to this version are left out; missing ones are None, except the first,
    which identifies the object: without it, the response is not from the service.
    """
    identifier = fields(kind)[0].name  # type: ignore[arg-type]
    if identifier not in body:
        raise TributaryError("unknown", f"The response contains no {identifier}. Is it from the service?", 200)
    nested = {name: each for base in kind.__mro__ for name, each in _NESTED.get(base, {}).items()}
    known: Json = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name in more:
            continue
        value = body.get(each.name)
        known[each.name] = [record(nested[each.name], item) for item in value or []] if each.name in nested else value
    return kind(**known, **more)


def _figure(of: records.JobRound, metric: str) -> float | None:
    """The mean of a metric, named as in the `metric` of a job."""
    if metric in ("loss", "accuracy"):
        return of.loss if metric == "loss" else of.accuracy
    held_out = metric.startswith("evaluation.")
    found: Json = (of.evaluation or {}).get("metrics", {}) if held_out else of.metrics or {}
    return found.get(metric.removeprefix("evaluation."), {}).get("mean")  # type: ignore[no-any-return]


def _entries(metadata: Mapping[str, Any]) -> Json:
    """Metadata as it is sent: numpy and torch scalars as numbers."""
    entries: Json = json.loads(json.dumps(metadata, default=plain))
    for each, value in entries.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"metadata[{each!r}] must be a finite number, not {value}.")
    return entries


def _weight_file(weights: Any, folder: Path) -> Path:
    """The file to upload; arrays are written into `folder`. Raises before a model is created for what is no file."""
    if isinstance(weights, Mapping):
        path = folder / "weights.safetensors"
        path.write_bytes(write_weights(weights))
        return path
    if not isinstance(weights, (str, os.PathLike)):
        given = "a PyTorch model: pass its state_dict()" if hasattr(weights, "state_dict") else type(weights).__name__
        raise ValueError(f"weights must be the path of a file, or a dict of arrays by name, not {given}.")
    if not Path(weights).is_file():
        raise FileNotFoundError(f"There is no file {os.fspath(weights)}.")
    return Path(weights)


class _Refreshed:
    """An object that can be refreshed from the service."""

    _client: Client

    def _take(self: T, body: Json) -> T:
        vars(self).update(vars(record(type(self), body, _client=self._client)))  # type: ignore[attr-defined]
        return self


@dataclass(kw_only=True)
class Job(_Refreshed, records.Job):
    """A training job: its fields as of the last response, and its actions."""

    _client: Client = field(repr=False, compare=False)

    def refresh(self) -> Job:
        """Fetch the job again."""
        return self._take(self._client.request("GET", f"/training/jobs/{self.id}"))

    def wait(self, timeout: float | None = None, progress: bool | None = None) -> Job:
        """Wait until the job has ended, with a progress bar on a terminal (override with `progress`). Ctrl-C stops
        waiting, not the job.

        Raises TributaryError with code job_failed or job_stopped and the job's reason if the job does not complete, and
        TimeoutError after `timeout` seconds.
        """
        shows = sys.stderr.isatty() if progress is None else progress
        began = time.monotonic()
        ends = None if timeout is None else began + timeout
        try:
            while self.refresh().ended_by is None:
                if shows:
                    sys.stderr.write(f"\r\x1b[K{self._bar()}")
                    sys.stderr.flush()
                if ends is not None and time.monotonic() >= ends:
                    raise TimeoutError(f"Job {self.id} is still running after {timeout} s: {self._bar()}")
                is_recent = time.monotonic() - began < FAST_POLL_PERIOD_SECONDS
                pause = POLL_SECONDS if is_recent else SLOW_POLL_SECONDS
                time.sleep(pause if ends is None else max(0.0, min(pause, ends - time.monotonic())))
        finally:
            if shows:
                sys.stderr.write(f"\r\x1b[K{self._bar()}\n")
        if self.status != "completed":
            raise TributaryError(f"job_{self.status}", f"Job {self.id} {self.status}: {self.reason}")
        return self

    def stop(self) -> Job:
        """Stop the job now."""
        return self._take(self._client.request("POST", f"/training/jobs/{self.id}/stop"))

    def resume(self) -> Job:
        """Continue a stopped or failed job after its last completed round, as if it had not been interrupted."""
        return self._take(self._client.request("POST", f"/training/jobs/{self.id}/resume", {}))

    def extend(self, rounds: int) -> Job:
        """Give a completed job this many more rounds."""
        return self._take(self._client.request("POST", f"/training/jobs/{self.id}/extend", {"rounds": rounds}))

    def weights(self, torch: bool = False) -> Any:
        """Return the latest round's model as arrays, or as a PyTorch state dict."""
        if self.latest_model_id is None:
            raise ValueError(f"Job {self.id} has no model yet: no round has been completed.")
        return self._client.weights(self.latest_model_id, torch=torch)

    def plot(self, metric: str = "loss") -> Any:
        """Plot a metric by round: returns matplotlib axes, or a text curve if matplotlib is not installed.

        `metric` is one that devices report, such as "loss" or "f1" (its mean), or "evaluation.f1", a held-out one.
        """
        if not self.history:  # a job from `jobs`, or one that has had no round yet
            self.refresh()
        completed = [each for each in self.history if each.status == "completed"]
        # The history has the latest rounds only.
        first = self.rounds_completed - len(completed) + 1
        points = [(first + n, _figure(each, metric)) for n, each in enumerate(completed)]
        numbers = [number for number, value in points if value is not None]
        values = [float(value) for _, value in points if value is not None]
        if not values:
            raise ValueError(f"Job {self.id} has no {metric} to show yet.")
        try:
            from matplotlib import pyplot
        except ImportError:
            return text_curve(values, metric)
        _, axes = pyplot.subplots()
        axes.plot(numbers, values, marker=".", label=f"{self.strategy} {metric}")
        axes.set_xlabel("round")
        axes.set_ylabel(metric)
        return axes

    def _bar(self, width: int = 24) -> str:
        filled = round(width * self.rounds_completed / max(1, self.rounds))
        now = self.history[-1] if self.history else None
        if now is not None and now.status == "active":
            doing = f"round {self.rounds_completed + 1}: {now.completed_devices} updates"
        else:
            doing = self.waiting_for or (self.status if self.ended_by else "waiting")
        losses = [each.loss for each in self.history if each.loss is not None]
        loss = f", loss {losses[-1]:.4f}" if losses else ""
        return f"{'█' * filled}{'░' * (width - filled)} {self.rounds_completed}/{self.rounds} {doing}{loss}"


@dataclass(kw_only=True)
class Rollout(_Refreshed, records.Rollout):
    """A rollout: a staged delivery of a version."""

    _client: Client = field(repr=False, compare=False)

    def refresh(self) -> Rollout:
        return self._take(self._client.request("GET", self._path))

    def pause(self, reason: str | None = None) -> Rollout:
        return self._act("pause", reason)

    def resume(self, reason: str | None = None) -> Rollout:
        return self._act("resume", reason)

    def advance(self, reason: str | None = None) -> Rollout:
        """Advance to the next step now."""
        return self._act("advance", reason)

    def rollback(self, reason: str | None = None) -> Rollout:
        return self._act("rollback", reason)

    @property
    def _path(self) -> str:
        return f"/models/{self.model_id}/rollouts/{self.rollout_id}"

    def _act(self, action: str, reason: str | None) -> Rollout:
        self._client.request("POST", f"{self._path}/{action}", {} if reason is None else {"reason": reason})
        return self.refresh()


@dataclass(kw_only=True)
class Group(_Refreshed, records.Group):
    """A device group."""

    _client: Client = field(repr=False, compare=False)

    def devices(self) -> list[ListedDevice]:
        found = self._client.listed(f"/device-groups/{self.id}/devices", "devices")
        return [record(ListedDevice, each) for each in found]

    def add(self, device_ids: Sequence[str]) -> Group:
        return self._change("POST", device_ids)

    def remove(self, device_ids: Sequence[str]) -> Group:
        return self._change("DELETE", device_ids)

    def _change(self, method: str, device_ids: Sequence[str]) -> Group:
        path = f"/device-groups/{self.id}"
        changed = self._client.request(method, f"{path}/devices", {"device_ids": list(device_ids)})
        if changed.get("skipped"):
            log.warning("Group %r: skipped %s.", self.name, ", ".join(map(str, changed["skipped"])))
        return self._take(self._client.request("GET", path))


class Client:
    """A client of the service at `url`. Methods raise TributaryError.

    `url` defaults to SERVICE_API_BASE, otherwise to the service on this machine. `key` defaults to SERVICE_API_KEY,
    otherwise to the key that `svc login` stored for this service; with open enrollment, a key is created once and
    stored.
    """

    def __init__(self, url: str | None = None, key: str | None = None, org: str | None = None) -> None:
        self.url = (url or os.environ.get("SERVICE_API_BASE") or DEFAULT_URL).rstrip("/")
        key = key or os.environ.get("SERVICE_API_KEY", "").strip() or signed_in_key(self.url) or _own_key(self.url)
        self.connection = Connection(self.url, key)
        self._org = org

    @property
    def org(self) -> str:
        """The organization that the key belongs to."""
        if self._org is None:
            self._org = self.connection.call("GET", "/keys/self", expects=("org_id",))["org_id"] or "default"
        return self._org

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Json:
        """Send any API request and return the JSON of the response, or {} if it has none (204). `path` begins after
        /api/v1.
        """
        return self.connection.call(method, path, body, query=query)

    def listed(self, path: str, key: str, **query: Any) -> Iterator[Json]:
        """Yield the items of a list, page by page: by `next` where the service sends it, otherwise by offset."""
        asked: Json = {"limit": PAGE, **query}
        offset = int(query.get("offset", 0))
        before: list[Json] = []
        while True:
            page = self.connection.call("GET", path, query=asked, expects=(key,))
            items: list[Json] = page[key]
            if "next" in page:
                asked["after"] = page["next"]
                is_last = page["next"] is None
            else:
                asked["offset"] = offset = offset + len(items)
                # Without a total, a page that is not full is the last one; a list without pages repeats its only one.
                is_last = offset >= page["total"] if "total" in page else len(items) != int(asked["limit"])
            if not items or items == before:
                return
            yield from items
            if is_last:
                return
            before = items

    # Models

    def models(self) -> list[Model]:
        """List the models in the catalog, newest first. Only `model` returns `versions`."""
        return [record(Model, each) for each in self.listed("/models", "models")]

    def model(self, name: str) -> Model:
        """Return a model with its versions, by name or id."""
        return record(Model, self.request("GET", f"/models/{quote(name)}"))

    def push(
        self,
        name: str,
        weights: str | os.PathLike[str] | Mapping[str, Any],
        version: str | None = None,
        description: str | None = None,
        framework: str = "pytorch",
        metadata: Mapping[str, Any] | None = None,
    ) -> Version:
        """Add a version to a model, and create the model if it does not exist.

        `weights` is a file, or arrays or tensors by name (a PyTorch state dict), which are stored as a safetensors
        file. `version` is a semantic version; if absent, the service assigns a number. Pushing the same bytes under the
        same version again succeeds. `metadata` is recorded with the version: text, numbers, and booleans by key, such
        as metrics and parameters.
        """
        entries = _entries(metadata or {})
        with tempfile.TemporaryDirectory() as folder:
            path = _weight_file(weights, Path(folder))
            try:
                self.connection.call("POST", "/models", {"name": name, "framework": framework}, repeats=True)
            except TributaryError as error:
                if error.status != 409:
                    raise
            pushed = self._upload(name, path, version, description, entries)
        if all((pushed.metadata or {}).get(each) == value for each, value in entries.items()):
            return pushed
        # The version was there before this upload.
        target = f"/models/{quote(name)}/versions/{pushed.version}"
        return record(Version, self.connection.call("PATCH", target, {"metadata": entries}, expects=("version",)))

    def promote(self, name: str, version: str | int, alias: str) -> str:
        """Point an alias (`name@alias`) to a version: a number, label, or other alias. Returns the version's label.

        Raises TributaryError with the code "pending_approval" if another admin must approve the move first.
        """
        path = f"/models/{quote(name)}/aliases/{quote(alias)}"
        moved = self.connection.call("PUT", path, {"version": str(version)}, expects=("version_label|requested_by",))
        if "requested_by" in moved:
            wait = f"{moved['title']}: waiting for the approval of another admin (svc approvals approve {moved['id']})."
            raise TributaryError("pending_approval", wait, 202)
        return str(moved["version_label"])

    def delete_version(self, name: str, version: str | int) -> None:
        """Delete a version, by number or label, and its file. Its label is not used again.

        An error with status 409 says what still uses the version.
        """
        path = f"/models/{quote(name)}/versions/{quote(str(version))}"
        self.connection.call("DELETE", path, repeats=False)

    def pull(
        self,
        name: str,
        version: str | int = "latest",
        to: str | os.PathLike[str] = ".",
        *,
        format: str | None = None,
    ) -> Path:
        """Download a version's file, verified by hash, to a folder or file path, complete or not at all.

        With a `format` that the catalog converts to, such as "onnx", the file in that format; waits up to ten minutes for
        a conversion.
        """
        path = f"/models/{quote(name)}/versions/{quote(str(version))}/download"
        if format is not None:
            path += f"?{urllib.parse.urlencode({'format': format})}"
        ends = time.monotonic() + CONVERSION_SECONDS
        while True:
            try:
                head = self.connection.retrying(f"GET {path}", lambda: self.connection.open("HEAD", path))
                break
            except TributaryError as error:
                if error.status == 404 and error.retry_after is not None and time.monotonic() < ends:
                    self.connection.pause(error.retry_after)
                    continue
                # A response to HEAD has no body, which would contain the service's error. This request raises it.
                if error.code == "unknown":
                    self.connection.open("GET", path).close()
                raise
        with head as answer:
            digest = hex_of("X-Model-Hash", answer.headers["x-model-hash"])
            size = int(answer.headers["content-length"])
            named = answer.headers.get_filename() or "weights"
        target = Path(to)
        if target.is_dir():
            file_name = Path(named.replace("\\", "/")).name
            target = target / ("weights" if file_name in ("", "..") else file_name)
        partial = target.with_name(f"{target.name}.{digest[:16]}.partial")
        self.connection.download(path, partial, size, digest)
        os.replace(partial, target)
        return target

    def weights(self, name: str, version: str | int = "latest", torch: bool = False) -> Any:
        """Return a version's weights as arrays by name, or as a PyTorch state dict."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.pull(name, version, folder)
            try:
                weights, types = read_weights(path, raw_vector=path.suffix == ".f32")
            except NotArrays as error:
                raise NotArrays(f"{error} Download it with pull, and open it with its framework.") from None
            copied: Weights = {each: array.copy() for each, array in weights.items()}
            return to_torch(copied, types) if torch else copied

    def _upload(
        self, name: str, path: Path, version: str | None, description: str | None, metadata: Json
    ) -> Version:
        recorded = json.dumps(metadata) if metadata else None
        told = {"version_label": version, "description": description, "metadata": recorded}
        form = {each: text for each, text in told.items() if text is not None}
        target = f"/models/{quote(name)}/versions/upload"
        size = path.stat().st_size
        sha256 = sha256_of(path)
        # Without a label, the same upload becomes another version.
        repeats = version is not None
        try:
            if size <= RESUMABLE_FROM:
                files = {"file": (path.name, path.read_bytes())}
                body = self.connection.submit(target, form, files, expects=("model_hash",), repeats=repeats)
            else:
                self.connection.upload(path, size, sha256)
                named = {"upload": f"sha256:{sha256}", "upload_size": str(size), "file_name": path.name}
                body = self.connection.submit(target, {**form, **named}, {}, expects=("model_hash",), repeats=repeats)
        except TributaryError as error:
            # The response to an earlier attempt may have been lost.
            for each in self.model(name).versions if error.status == 409 else []:
                if each.version_label == version and each.model_hash == f"sha256:{sha256}":
                    return each
            raise
        for warning in body.get("warnings", []):
            log.warning("%s", warning)
        if body["model_hash"] != f"sha256:{sha256}":
            raise network_error(f"The service stored {body['model_hash']} instead of sha256:{sha256}.")
        return record(Version, body)

    # Training

    def train(
        self,
        model: str,
        *,
        rounds: int | None = None,
        strategy: str | None = None,
        min_devices: int | None = None,
        **options: Any,
    ) -> Job:
        """Start a training job, by default 10 rounds of fedavg with at least 2 devices. `options` are fields of
        POST /training/jobs, such as hyperparameters.
        """
        # A default that is sent would keep the service from noticing a misspelling, such as min_device=3.
        named = {"rounds": rounds, "strategy": strategy, "min_devices": min_devices}
        given = {each: value for each, value in named.items() if value is not None}
        body = {"model": model, **given, **options}
        return self.job(self.connection.call("POST", "/training/jobs", body, expects=("id",))["id"])

    def job(self, job_id: str) -> Job:
        return record(Job, self.request("GET", f"/training/jobs/{job_id}"), _client=self)

    def jobs(self, model: str | None = None, status: str | None = None) -> list[Job]:
        """List training jobs, newest first. Their `history` is empty until `refresh`."""
        found = self.listed("/training/jobs", "jobs", model=model, status=status)
        return [record(Job, each, _client=self) for each in found]

    # Devices

    def devices(self, status: str | None = None, platform: str | None = None) -> list[ListedDevice]:
        found = self.listed("/devices", "devices", org_id=self.org, status=status, platform=platform, limit=1000)
        return [record(ListedDevice, each) for each in found]

    def device(self, device_id: str) -> DeviceRecord:
        return record(DeviceRecord, self.request("GET", f"/devices/{quote(device_id)}"))

    def groups(self) -> list[Group]:
        found = self.listed("/device-groups", "groups", org_id=self.org, limit=1000)
        return [record(Group, each, _client=self) for each in found]

    def create_group(self, name: str, device_ids: Sequence[str] = (), description: str = "") -> Group:
        body = self.request("POST", "/device-groups", {"org_id": self.org, "name": name, "description": description})
        group = record(Group, body, _client=self)
        return group.add(device_ids) if device_ids else group

    # Delivery

    def roll_out(self, model: str, version: str, percentage: int = 10, **options: Any) -> Rollout:
        """Start a rollout with this percentage of the devices. `options` are fields of POST /models/{id}/rollouts, such
        as increment_step.
        """
        asked = {"version": version, "rollout_percentage": percentage, "start_immediately": True, **options}
        return record(Rollout, self.request("POST", f"/models/{quote(model)}/rollouts", asked), _client=self)

    def rollouts(self, model: str) -> list[Rollout]:
        found = self.listed(f"/models/{quote(model)}/rollouts", "rollouts")
        return [record(Rollout, each, _client=self) for each in found]

    def deploy(self, model: str, version: str = "latest", **options: Any) -> Deployment:
        """Deploy a version to `devices`, a `group`, or all active devices (POST /deploy/execute)."""
        asked = {"model_name": model, "model_version": version, **options}
        started = self.connection.call("POST", "/deploy/execute", asked, expects=("deployment_id",))
        for warning in started.get("warnings", []):
            log.warning("%s", warning)
        return self.deployment(started["deployment_id"])

    def deployment(self, deployment_id: str) -> Deployment:
        return record(Deployment, self.request("GET", f"/deployments/{deployment_id}"))

    def deployments(self, model: str | None = None) -> list[Deployment]:
        return [record(Deployment, each) for each in self.listed("/deployments", "deployments", model_name=model)]

    def rollback(self, deployment_id: str, reason: str | None = None) -> Deployment:
        """Roll back a deployment's devices to the previous version."""
        self.request("POST", f"/deployments/{deployment_id}/rollback", {} if reason is None else {"reason": reason})
        return self.deployment(deployment_id)


def signed_in_key(url: str) -> str | None:
    """The key that `svc login` stored for this service, or None. It is sent to no other service."""
    try:
        kept = json.loads((home() / "credentials.json").read_text())
    except (OSError, ValueError):
        return None
    for each in [kept, *kept.get("others", [])]:
        if _origin(each.get("api_base") or DEFAULT_URL) == _origin(url):
            return str(each["api_key"])
    return None


def _origin(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc.replace("localhost", "127.0.0.1")


def _own_key(url: str) -> str:
    """The key of a device that does not train: with open enrollment, any device's key has all rights."""
    name = f"python-{socket.gethostname()}"[:200]
    state = State(None, url, name)
    known = state.load()
    if known is not None:
        return known[1]
    device = Device(url, f"{name}-{os.urandom(4).hex()}", stop=threading.Event())
    try:
        key = device.register(trains=False)
    except TributaryError as error:
        if error.status != 401:
            raise
        message = f"{url} requires an API key: sign in with svc login, set SERVICE_API_KEY, or pass key=."
        raise TributaryError("unauthorized", message, 401) from None
    state.save(url, device.device_id, key)
    return key


def text_curve(values: Sequence[float], label: str, width: int = 60, height: int = 10) -> str:
    """The values as a text curve; the last column is the latest value."""
    step = max(1, -(-len(values) // width))
    shown = [values[min(at + step, len(values)) - 1] for at in range(0, len(values), step)]
    low, high = min(shown), max(shown)
    span = high - low or 1.0
    rows = [round((value - low) / span * (height - 1)) for value in shown]
    lines = []
    for row in range(height - 1, -1, -1):
        edge = f"{low + span * row / (height - 1):10.4g}" if row in (0, height - 1) else " " * 10
        lines.append(f"{edge} ┤{''.join('●' if at == row else ' ' for at in rows)}")
    return "\n".join([*lines, f"{'':10} └{'─' * len(shown)}", f"{'':12}{label} by round, {len(values)} rounds"])
