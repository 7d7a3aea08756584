"""A device's part in a round: plan, model, training, update."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import operator
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsIndex

from .connection import Json, Stopped
from .device import Device, State, write_whole
from .errors import TributaryError, network_error, reason_of
from .plan import Plan
from .strategies import control_change, correction_of
from .weights import Array, NotArrays, Types, Weights, array_of, conform, read_weights, to_torch, write_weights

log = logging.getLogger("tributary")

#: (weights, plan) -> (weights, num_samples, metrics). The weights are None if the round distributes no model, and the
#: bytes of its file if it has a format that this package does not read, such as XGBoost's.
Train = Callable[[Any, Plan], tuple[Mapping[str, Any] | bytes | bytearray, SupportsIndex, Mapping[str, Any]]]
#: weights -> metrics of held-out data, such as {"loss": 0.4, "accuracy": 0.9, "num_samples": 40}.
Evaluate = Callable[[Any], Mapping[str, Any]]

#: The same rule as in the service. `evaluation.` is not part of a name: it refers to a held-out metric.
METRIC_NAME = re.compile(r"(?!evaluation\.)[A-Za-z][\w.:@/+-]{0,63}", re.ASCII)
MAX_METRICS = 32
#: Metrics that have fields of their own in the request, or that only the strategy needs.
OWN_FIELDS = frozenset({"loss", "accuracy", "steps", "learning_rate"})
#: Strategies with a part on the device that computes with the model's arrays.
NEEDS_ARRAYS = frozenset({"scaffold", "ditto"})
JOBS_KEPT = 20
#: Exists in a round's folder once training is done.
FINISHED = "finished.json"
#: The fields of that file that a result has, with their types.
RESULT_FIELDS: Mapping[str, Any] = {
    "num_samples": int,
    "metrics": dict,
    "global_metrics": (dict, type(None)),
    "seconds": (int, float),
}
#: In a round's folder: this device's part in a secure round, with its secrets.
SECURE = "secure.json"
FAILURE_REPORT_SECONDS = 5.0
#: A round that takes longer has heartbeats, so that the service notices if the device is gone.
FIRST_HEARTBEAT_SECONDS = 2.0
USUAL_HEARTBEAT_SECONDS = 20.0


class NotNeeded(Exception):
    """The round closed with enough updates of other devices before this device's arrived: neither has failed."""


@dataclass(frozen=True)
class RoundResult:
    """A device's part in a round, accepted by the service."""

    plan: Plan
    num_samples: int
    metrics: Mapping[str, float]
    #: What `evaluate` returned for the received model; None if it was not called.
    global_metrics: Mapping[str, float] | None
    seconds: float

    def __str__(self) -> str:
        received = "" if self.global_metrics is None else f" The received model's metrics: {_told(self.global_metrics)}."
        return (
            f"Round {self.plan.round_number}: submitted an update from {self.num_samples} samples in "
            f"{self.seconds:.1f} s, "
            f"{_told(self.metrics)}.{received}"
        )


class RoundWork:
    """Does rounds. Keeps everything in a round's folder until it is submitted, so a killed program can resume."""

    def __init__(self, train: Train, evaluate: Evaluate | None, torch: bool, state: State) -> None:
        self.train, self.evaluate, self.torch, self.state = train, evaluate, torch, state

    def take_part(self, device: Device, round_id: str, interval: float) -> RoundResult:
        """Raises NotNeeded, or errors after reporting them; after a transient error the round may be retried."""
        # It becomes the name of a folder.
        if not re.fullmatch(r"[\w-]{1,64}", round_id):
            raise network_error(f"The service named the round {round_id!r}, which is not a valid id.")
        folder = self.state.rounds / round_id
        plan: Plan | None = None
        try:
            for other in self.state.rounds.iterdir():
                if other != folder:
                    self._remove(device, other)
            folder.mkdir(exist_ok=True, mode=0o700)
            plan = device.plan(round_id)
            log.info("Round %d awaits this device (%s).", plan.round_number, plan.strategy)
            with _Heartbeats(device, plan, interval):
                result = self._train_and_submit(device, plan, folder)
        except BaseException as error:
            status = error.status if isinstance(error, TributaryError) else None
            if isinstance(error, TributaryError) and (error.is_passing or status == 401):
                raise
            # `_remove` asks the service before the next round.
            may_be_delivered = (_is_stop(error) or _is_unmasking(folder)) and (folder / FINISHED).exists()
            with contextlib.suppress(OSError):  # A disk that fails must still be reported.
                (folder / SECURE).unlink()
            # Its heartbeats may notice first that the round is closed, so that `train` gives up.
            is_closed = status == 409 or (plan is not None and plan.over.is_set())
            # A device may also leave a secure round by its own decision, which is reported if the round still needs it.
            is_conflict = is_closed or (isinstance(error, TributaryError) and error.code == "conflict")
            is_unneeded = is_conflict and not _is_stop(error) and _has_enough(device, round_id, plan)
            # A round that is over needs no failure report.
            if not is_closed and not is_unneeded and status != 404:
                _report_failure(device, round_id, error)
            if not may_be_delivered:
                shutil.rmtree(folder, ignore_errors=True)
            if is_unneeded:
                raise NotNeeded(f"This device's update is not needed: {reason_of(error)}") from error
            raise
        shutil.rmtree(folder, ignore_errors=True)
        log.info("%s", result)
        return result

    def unmasking(self) -> str | None:
        """The secure round that has this device's masked update, and awaits its shares. Heartbeats do not name it."""
        return next((folder.name for folder in self.state.rounds.iterdir() if _is_unmasking(folder)), None)

    def evaluate_last(self, device: Device, round_id: str) -> None:
        """Evaluate a job's last model and report the result or the reason. Raises transient errors, for a retry."""
        plan = device.evaluation_plan(round_id)
        try:
            with tempfile.TemporaryDirectory(dir=self.state.rounds) as folder:
                weights, types = self._model_of(device, plan, Path(folder))
            given = self._given(weights, types)
            metrics = _numbers(self.evaluate(given), "evaluate") if self.evaluate is not None else {}
            sent = _sendable(metrics, without=frozenset({"num_samples"}))
            if not sent:
                raise ValueError("This device has no metrics of the model.")
            num_samples = int(metrics.get("num_samples", self._trained_on()))
            device.submit_evaluation(plan, max(1, num_samples), sent)
        except Exception as error:
            if isinstance(error, (Stopped, TributaryError)):
                raise
            device.submit_evaluation(plan, failure_reason=reason_of(error))
            raise
        log.info("Evaluated the model of round %d: %s.", plan.round_number, _told(metrics))

    def _model_of(self, device: Device, plan: Plan, folder: Path) -> tuple[Weights | bytes | None, Types]:
        if not device.download_model(plan, folder / "global"):
            return None, {}
        try:
            return read_weights(folder / "global", plan.raw_vector)
        except NotArrays:
            if plan.secure or plan.strategy in NEEDS_ARRAYS:
                raise
            log.info("Round %d: the model is passed as the bytes of its file, not as arrays.", plan.round_number)
            return (folder / "global").read_bytes(), {}

    def _given(self, weights: Weights | bytes | None, types: Types) -> Any:
        return to_torch(weights, types) if self.torch and isinstance(weights, dict) else weights

    def _train_and_submit(self, device: Device, plan: Plan, folder: Path) -> RoundResult:
        finished = (self._submit_masked if plan.secure else self._submit)(device, plan, folder)
        # Version 1.0.0 wrote no job_id.
        self._keep(folder, {"job_id": plan.job_id, **finished})
        return _result(plan, finished)

    def _finished(self, device: Device, plan: Plan, folder: Path) -> Json:
        """What training wrote, in this run or in an earlier one."""
        finished = _read_finished(folder)
        if finished is None:
            finished = {**self._train(device, plan, folder), "job_id": plan.job_id}
            write_whole(folder / FINISHED, json.dumps(finished).encode())
        else:
            log.info("Round %d: submitting the update that was trained before the interruption.", plan.round_number)
        return finished

    def _submit_masked(self, device: Device, plan: Plan, folder: Path) -> Json:
        """Submit an update of which the service learns only the sum with those of other devices."""
        try:
            from .secure_part import changes_of, encode
            from .secure_round import take_secure_part
        except ImportError as error:
            message = f"The round uses secure aggregation, for which this device needs cryptography ({error})"
            raise ValueError(f"{message}: pip install cryptography") from None
        finished: Json = {}

        def train(settings: Json) -> Array:
            finished.update(self._finished(device, plan, folder))
            before, _ = self._model_of(device, plan, folder)
            assert not isinstance(before, bytes)
            after, _ = read_weights(folder / "update", plan.raw_vector)
            metrics, limit = finished["metrics"], settings["range"]
            figures = (metrics.get("loss"), _accuracy(metrics))
            words, clipped = encode(changes_of(before or {}, after), finished["num_samples"], settings, *figures)
            if clipped > 0:
                log.warning("%d weights changed by more than %g and were clipped to this limit.", clipped, limit)
            return words

        take_secure_part(device, plan, folder / SECURE, train)
        return finished or self._finished(device, plan, folder)

    def _submit(self, device: Device, plan: Plan, folder: Path) -> Json:
        finished = self._finished(device, plan, folder)
        result, control = _result(plan, finished), folder / "control-change"
        device.submit(
            plan,
            (folder / "update").read_bytes(),
            result.num_samples,
            loss=result.metrics.get("loss"),
            accuracy=_accuracy(result.metrics),
            training_time_seconds=result.seconds,
            metrics=_sendable(result.metrics, without=OWN_FIELDS),
            evaluation=_evaluation(result),
            final_model=self.evaluate is not None,
            control=control.read_bytes() if control.exists() else None,
        )
        return finished

    def _keep(self, folder: Path, finished: Json) -> None:
        """Keep what later rounds need of an accepted update."""
        job_id = finished.get("job_id")
        if job_id is not None and (folder / "memory").exists():
            (folder / "memory").replace(self._memory_of(job_id))
            for old in sorted(self.state.jobs.iterdir(), key=lambda path: -path.stat().st_mtime)[JOBS_KEPT:]:
                old.unlink()
        write_whole(self.state.num_samples, str(finished.get("num_samples")).encode())

    def _remove(self, device: Device, folder: Path) -> None:
        """Remove the folder of another round, whose update may have been accepted although the response was lost."""
        finished = _read_json(folder / FINISHED)
        if finished is not None and device.has_delivered(folder.name):
            self._keep(folder, finished)
        shutil.rmtree(folder, ignore_errors=True)

    def _train(self, device: Device, plan: Plan, folder: Path) -> Json:
        """Write `update` and, if the strategy has them, `control-change` and `memory`. Returns the result's fields."""
        weights, types = self._model_of(device, plan, folder)
        memory = _read_memory(self._memory_of(plan.job_id)) if plan.job_id is not None else None
        control = read_weights(folder / "control")[0] if device.download_control(plan, folder / "control") else None
        # `train` may change the weights in place.
        before = {name: array.copy() for name, array in weights.items()} if isinstance(weights, dict) else {}
        if plan.strategy == "scaffold":
            plan.correction = correction_of(before, control, memory)
        if plan.strategy == "ditto":
            plan.personal = {name: array.copy() for name, array in (memory or before).items()}
        global_metrics = None
        # The service learns no figures of a single device in these rounds, by heartbeats either.
        is_confidential = plan.secure or plan.private
        if self.evaluate is not None and weights is not None and not is_confidential:
            # What it changes in place is not what `train` receives.
            copied = {name: array.copy() for name, array in before.items()} or weights
            global_metrics = _numbers(self.evaluate(self._given(copied, types)), "evaluate")
            del copied
        began = time.monotonic()
        after, num_samples, metrics = _checked(self.train(self._given(weights, types), plan), isinstance(weights, bytes))
        seconds = time.monotonic() - began
        if not isinstance(after, Mapping):
            write_whole(folder / "update", bytes(after))
            return {"num_samples": num_samples, "metrics": metrics, "global_metrics": global_metrics, "seconds": seconds}
        update = conform(after, before) if before else {name: array_of(value, name) for name, value in after.items()}
        if plan.strategy == "scaffold":
            change = control_change(before, update, control, *_steps(plan, metrics))
            write_whole(folder / "control-change", write_weights(conform(change, before), types))
            # Add the change as sent, so that rounding does not make what is stored drift from the service's mean.
            sent = read_weights(folder / "control-change")[0]
            kept = {name: array + (memory or {}).get(name, 0.0) for name, array in _wide(sent).items()}
            write_whole(folder / "memory", write_weights(kept))
        if plan.personal is not None and plan.job_id is not None:
            write_whole(folder / "memory", write_weights(conform(plan.personal, before, "The personal model")))
        vector = update["vector"].astype("<f4").tobytes() if plan.raw_vector else None
        write_whole(folder / "update", vector or write_weights(update, types))
        return {"num_samples": num_samples, "metrics": metrics, "global_metrics": global_metrics, "seconds": seconds}

    def _trained_on(self) -> int:
        """The number of samples of the latest submitted update."""
        try:
            return int(self.state.num_samples.read_text())
        except (OSError, ValueError):
            return 1

    def _memory_of(self, job_id: str) -> Path:
        """What this device stores for the job: its control variate or its personal model."""
        return self.state.jobs / re.sub(r"[^\w-]", "", job_id)


class _Heartbeats:
    """Sends heartbeats during a round, so that a device that trains for long does not become inactive."""

    def __init__(self, device: Device, plan: Plan, interval: float) -> None:
        # A separate connection, because the round uses the other one at the same time.
        self._device, self._plan, self._interval = device.unstoppable(), plan, interval
        self._thread = threading.Thread(target=self._run, name="tributary-heartbeats", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._device.connection.stop.set()

    def _run(self) -> None:
        rest = min(FIRST_HEARTBEAT_SECONDS, self._interval)
        while not self._plan.over.is_set() and not self._device.connection.stop.wait(rest):
            try:
                self._beat()
                rest = _next_rest(rest, self._interval)
            except TributaryError as error:
                log.warning("A heartbeat during training failed: %s", error)
            except Stopped:
                return

    def _beat(self) -> None:
        # It may arrive after the goodbye of a program that is stopped.
        if self._device.heartbeat({"training": True}, status=None).pending_round_id == self._plan.round_id:
            return
        status = self._device.round_status(self._plan.round_id)
        if status == "active":
            return
        # The update may have completed the round, while its response is still awaited.
        if not self._device.has_delivered(self._plan.round_id):
            log.warning("Round %d is already %s: its update is no longer needed.", self._plan.round_number, status)
        self._plan.over.set()


def _next_rest(rest: float, interval: float) -> float:
    """Grows slowly to a long interval: the service gives up a device after three times its latest one, and at least a
    minute."""
    return min(interval, max(USUAL_HEARTBEAT_SECONDS, 2 * rest))


def _checked(returned: Any, of_file: bool) -> tuple[Mapping[str, Any] | bytes | bytearray, int, dict[str, float]]:
    """What `train` returned. `of_file`: it received the bytes of the model's file."""
    if not isinstance(returned, tuple) or len(returned) != 3:
        what = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else type(returned).__name__
        raise ValueError(f"train must return (weights, num_samples, metrics), got {what}.")
    weights, num_samples, metrics = returned
    if not isinstance(weights, (bytes, bytearray) if of_file else Mapping):
        expected = "the bytes of a file, as the model of the round" if of_file else "a dict of arrays by name"
        raise ValueError(f"train returned {type(weights).__name__} as weights; they must be {expected}.")
    try:
        count = operator.index(num_samples)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"train returned {num_samples!r} samples; it must be a whole number of at least 1.")
    return weights, count, _numbers(metrics, "train")


def _numbers(metrics: Any, source: str) -> dict[str, float]:
    """The finite metrics: a diverged loss is no reason to lose the update."""
    try:
        values = {str(name): float(value) for name, value in metrics.items()}
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f'{source} must return metrics such as {{"loss": 0.4}}, numbers by name; got {metrics!r}.'
        ) from None
    for name, value in values.items():
        if not math.isfinite(value):
            log.warning(
                "%s returned the metric %r = %r, which is not sent: training may have diverged.", source, name, value
            )
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _steps(plan: Plan, metrics: Mapping[str, float]) -> tuple[float, float]:
    steps, rate = metrics.get("steps", 0), metrics.get("learning_rate", plan.hyperparameters.get("learning_rate", 0))
    if steps >= 1 and isinstance(rate, (int, float)) and rate > 0:
        return steps, rate
    raise ValueError(
        "In a SCAFFOLD round, train must return the metrics 'steps', the number of SGD steps taken, and "
        "'learning_rate', unless "
        f"that is a hyperparameter of the round; got {steps!r} and {rate!r}."
    )


def _wide(weights: Weights) -> Weights:
    return {name: array.astype("f8") for name, array in weights.items()}


def _sendable(metrics: Mapping[str, float], without: frozenset[str]) -> dict[str, float]:
    """The metrics that the service accepts (bounded names, accuracy from 0 to 1). The others are logged."""
    sent: dict[str, float] = {}
    for name, value in metrics.items():
        if name in without:
            continue
        if not METRIC_NAME.fullmatch(name) or (name == "accuracy" and not 0 <= value <= 1) or len(sent) == MAX_METRICS:
            log.warning("The metric %r = %r is not sent: see docs/training.md, Evaluation, for limits.", name, value)
        else:
            sent[name] = value
    return sent


def _accuracy(metrics: Mapping[str, float]) -> float | None:
    return _sendable(metrics, without=frozenset(metrics) - {"accuracy"}).get("accuracy")


def _result(plan: Plan, finished: Json) -> RoundResult:
    return RoundResult(plan, **{name: finished[name] for name in RESULT_FIELDS})


def _evaluation(result: RoundResult) -> tuple[int, dict[str, float]] | None:
    if result.global_metrics is None:
        return None
    num_samples = int(result.global_metrics.get("num_samples", result.num_samples))
    return max(1, num_samples), _sendable(result.global_metrics, without=frozenset({"num_samples"}))


def _told(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in metrics.items()) or "no metrics"


def _is_stop(error: BaseException) -> bool:
    return isinstance(error, (KeyboardInterrupt, Stopped))


def _has_enough(device: Device, round_id: str, plan: Plan | None) -> bool:
    """Whether the round stopped accepting updates because it had enough. A secure round is active until it is unmasked."""
    try:
        status = device.round_status(round_id)
        if status == "active" and plan is not None and plan.secure:
            return device.secure_state(plan)["status"] in ("unmasking", "done")
        return status in ("aggregating", "completed")
    except TributaryError:
        return False


def _report_failure(device: Device, round_id: str, error: BaseException) -> None:
    reason = "The program was stopped." if _is_stop(error) else reason_of(error)
    try:
        device.unstoppable().report_failure(round_id, reason, until=time.time() + FAILURE_REPORT_SECONDS)
    except TributaryError:
        pass  # The error itself matters more than whether it could be reported.


def _read_json(path: Path) -> Json | None:
    """None if missing or damaged."""
    try:
        body = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return body if isinstance(body, dict) else None


def _is_unmasking(folder: Path) -> bool:
    return (_read_json(folder / SECURE) or {}).get("step") in ("masked", "unmasked")


def _read_finished(folder: Path) -> Json | None:
    """None if missing, or incomplete after a power failure: the round is then trained again."""
    body = _read_json(folder / FINISHED) or {}
    is_whole = all(name in body and isinstance(body[name], types) for name, types in RESULT_FIELDS.items())
    return body if is_whole and (folder / "update").is_file() else None


def _read_memory(path: Path) -> Weights | None:
    """None if missing. A damaged file is set aside: otherwise every later round of the job would fail."""
    try:
        return read_weights(path)[0] if path.is_file() else None
    except ValueError as error:
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)
        log.warning("%s It was renamed to %s; the job starts without it on this device.", error, aside)
        return None
