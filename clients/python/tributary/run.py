"""`run`: the program of a device that takes part in rounds."""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .client import signed_in_key
from .connection import Stopped
from .device import Device, State, describe_machine, register_again, sign_in
from .errors import TributaryError, reason_of
from .lock import FolderLock
from .round_work import Evaluate, NotNeeded, RoundResult, RoundWork, Train

log = logging.getLogger("tributary")

#: The service holds a heartbeat's response for at most 55 s; proxies often close a connection after 30 s.
MAX_WAIT_SECONDS = 25.0
#: After news the next heartbeat follows soon, because more may come, but never at once, whatever the service answers.
AFTER_NEWS_SECONDS = 0.5
#: How soon a device whose round has ended asks for the next one: a short step of a secure round may be waiting for it.
NEXT_ROUND_SECONDS = 2.0
INTERVAL_SECONDS = 20.0
GOODBYE_SECONDS = 3.0


class RoundFailed(TributaryError):
    """A round failed while `run` was given a number of `rounds`. The message names the round and the reason."""


def run(
    url: str,
    *,
    train: Train,
    evaluate: Evaluate | None = None,
    device_id: str | None = None,
    api_key: str | None = None,
    join_code: str | None = None,
    enrollment_token: str | None = None,
    capabilities: Mapping[str, Any] | None = None,
    torch: bool = False,
    rounds: int | None = None,
    interval_seconds: float | None = None,
    state_dir: str | Path | None = None,
    on_round: Callable[[RoundResult], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Take part in rounds until stopped by Ctrl-C, SIGTERM, or `stop`, or until `rounds` rounds are done.

    `train(weights, plan)` receives the global model as a dict of numpy arrays (a PyTorch state dict with `torch=True`,
    the bytes of a file in another format, such as XGBoost's, None if the round has no model) and returns new weights
    (arrays, tensors, or such bytes), the number of samples they were trained on, and metrics. The service shows all
    metrics except "steps" and "learning_rate", which SCAFFOLD needs. An exception is reported to the service as the
    reason. `evaluate(weights)` returns the metrics of the received model on held-out data, which are sent with the
    update; they are weighted by its "num_samples", otherwise by that of `train`.
    It is also called with a job's last model, which no update follows.

    Registers once and stores the key in `state_dir` (SERVICE_HOME, otherwise ~/.svc), in a folder for this service and
    `device_id` that one program uses at a time. Where the service requires it, `join_code` admits this device (a code of
    `svc devices invite`, ignored once the device is registered), or `enrollment_token`, a key with devices:write, by
    default the key of `svc login`; `api_key` is the key of a device that is already registered. Waits while the service
    is unreachable, and resumes a round that it had not submitted. Raises errors that waiting cannot fix: a name that is
    taken, an `api_key`, code, or token that is refused, a folder that is in use, and, with `rounds`, RoundFailed.
    """
    if not log.hasHandlers():
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    stop = stop or threading.Event()
    state = State(Path(state_dir) if state_dir else None, url, device_id)
    enrollment: Mapping[str, Any] = {
        "enrollment_token": enrollment_token or signed_in_key(url),
        "capabilities": describe_machine() if capabilities is None else capabilities,
    }
    loop = _Loop(RoundWork(train, evaluate, torch, state), rounds, interval_seconds, on_round)
    told: set[str] = set()
    with FolderLock(state.folder):
        before = _stop_on_terminate()
        try:
            while True:
                try:
                    given = {"device_id": device_id, "api_key": api_key, "join_code": join_code}
                    device = sign_in(url, state, **given, **enrollment, stop=stop)
                    if loop.device is None:
                        log.info("Device %s is waiting for rounds at %s.", device.device_id, url)
                    loop.device = device
                    return loop.serve(device)
                except TributaryError as error:
                    # A heartbeat that is held while the device is erased gets a 404.
                    if error.status in (401, 404) and api_key is None and loop.device is not None:
                        _replace_key(loop.device, state, enrollment, told)
                    elif error.is_passing:
                        log.warning("%s", error)
                    else:
                        raise
                if stop.wait(loop.interval * (0.5 + random.random() / 2)):
                    raise Stopped
        except (KeyboardInterrupt, Stopped):
            log.info("Stopping.")
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)
            if loop.device is not None:
                _say_goodbye(loop.device)


def _replace_key(device: Device, state: State, enrollment: Mapping[str, Any], told: set[str]) -> None:
    """For a key that the service refuses: `sign_in` then loads the new key, or the old one again."""
    refused = (
        f"The service refuses the key of {device.device_id}: it was revoked, the device was erased, or the service was "
        "reinstalled."
    )
    try:
        register_again(device, state, **enrollment)
        log.warning("%s Registered again.", refused)
    except TributaryError as error:
        message = (
            f"{refused} Registering again is not possible: {error} The key is kept and tried again. If it was revoked, "
            "choose another device_id, or pass a valid key of this device as api_key."
        )
        if error.is_passing:
            log.warning("%s", error)
        elif message not in told:
            told.add(message)
            log.warning("%s", message)


class _Loop:
    """Sends heartbeats and takes part in the rounds they name."""

    def __init__(
        self,
        work: RoundWork,
        rounds: int | None,
        interval_seconds: float | None,
        on_round: Callable[[RoundResult], None] | None,
    ) -> None:
        self.device: Device | None = None
        self.interval = interval_seconds or INTERVAL_SECONDS
        self._work, self._left, self._on_round = work, rounds, on_round
        self._is_paced_by_service = interval_seconds is None
        self._latest: RoundResult | None = None

    def serve(self, device: Device) -> None:
        """Run until the rounds are done. Raises the errors of refused requests."""
        while self._left != 0:
            began = time.monotonic()
            unmasking = self._work.unmasking()
            if unmasking is not None:
                self._take_part(device, unmasking)
                continue
            answer = device.heartbeat(self._metrics(), wait_seconds=min(self.interval, MAX_WAIT_SECONDS))
            if answer.pending_round_id is not None:
                self._take_part(device, answer.pending_round_id)
                continue
            if answer.pending_evaluation_round_id is not None:
                self._evaluate(device, answer.pending_evaluation_round_id)
                continue
            asked = answer.next_heartbeat_seconds if self._is_paced_by_service else None
            rest = self.interval - (time.monotonic() - began) if asked is None else asked
            device.connection.pause(min(rest, AFTER_NEWS_SECONDS) if answer.is_news else rest)

    def _take_part(self, device: Device, round_id: str) -> None:
        try:
            self._latest = self._work.take_part(device, round_id, self.interval)
        except NotNeeded as unneeded:
            log.info("Round %s: %s", round_id, unneeded)
            self._pause(device, NEXT_ROUND_SECONDS)
            return
        except Exception as error:
            if isinstance(error, Stopped) or (
                isinstance(error, TributaryError) and (error.is_passing or error.status == 401)
            ):
                raise
            if self._left is not None:
                raise RoundFailed("round_failed", f"Round {round_id} failed: {reason_of(error)}") from error
            refusal = error if isinstance(error, TributaryError) else None
            log.warning("Round %s: %s", round_id, reason_of(error), exc_info=refusal is None)
            is_over = refusal is not None and (refusal.status in (404, 409) or refusal.code == "conflict")
            self._pause(device, NEXT_ROUND_SECONDS if is_over else self.interval)
            return
        if self._left is not None:
            self._left -= 1
        if self._on_round is not None:
            self._on_round(self._latest)

    def _pause(self, device: Device, seconds: float) -> None:
        device.connection.pause(min(seconds, self.interval) * (0.5 + random.random() / 2))

    def _evaluate(self, device: Device, round_id: str) -> None:
        try:
            self._work.evaluate_last(device, round_id)
        except Exception as error:
            if isinstance(error, Stopped) or (
                isinstance(error, TributaryError) and (error.is_passing or error.status == 401)
            ):
                raise
            log.warning("Evaluation of round %s: %s", round_id, reason_of(error))
            self._pause(device, self.interval)

    def _metrics(self) -> dict[str, Any]:
        if self._latest is None or self._latest.global_metrics is None:
            return {}
        told = {f"global_model_{name}": value for name, value in self._latest.global_metrics.items()}
        return {"round_number": self._latest.plan.round_number, **told}


def _say_goodbye(device: Device) -> None:
    try:
        device.unstoppable().heartbeat(status="inactive", until=time.time() + GOODBYE_SECONDS)
    except TributaryError:
        pass


def _stop_on_terminate() -> Any:
    """Make SIGTERM stop the program like Ctrl-C, if this is the main thread. Returns the previous handler."""
    if threading.current_thread() is not threading.main_thread():
        return None

    program = os.getpid()

    def interrupt(*_: object) -> None:
        if os.getpid() != program:  # a child that `train` forked, such as a worker of multiprocessing
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTERM)
        raise KeyboardInterrupt

    return signal.signal(signal.SIGTERM, interrupt)
