"""The training plan of a round."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .connection import Json, hex_of
from .errors import network_error
from .weights import Weights


@dataclass(frozen=True)
class RemoteFile:
    """A file of the round: its size in bytes and its SHA-256 in hex."""

    size_bytes: int
    sha256: str


@dataclass(kw_only=True)
class Plan:
    """One round, as `train` sees it."""

    round_id: str
    round_number: int
    strategy: str
    #: Those of the round or job, and those of the strategy: mu (FedProx), lambda (Ditto).
    hyperparameters: dict[str, Any]
    #: The job that the round belongs to; state that a device stores between rounds belongs to the job.
    job_id: str | None
    #: How many rounds the job had completed when this one began, for schedules such as a learning rate's decay; None
    #: without a job.
    rounds_completed: int | None
    #: FedBuff: an update that arrives after the round counts for a later one.
    asynchronous: bool
    #: When the round ends, in terms of `time.time` on this machine; later updates are refused.
    timeout_at: float
    #: The global model, or None if devices must create the initial model themselves, the same on each device.
    model: RemoteFile | None
    #: SCAFFOLD's global control variate; None for other strategies, and while it is zero.
    control: RemoteFile | None
    #: The response as received.
    raw: Json = field(repr=False)
    #: SCAFFOLD: c - c_i, to add to each gradient. None for other strategies.
    correction: Weights | None = field(default=None, repr=False)
    #: Ditto: the personal model stored for this job, initially the global model. Change or replace it: it never leaves
    #: this device.
    personal: Weights | None = field(default=None, repr=False)
    over: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    @property
    def raw_vector(self) -> bool:
        """Whether model and updates are raw little-endian float32 vectors, here one array named `vector`."""
        return bool(self.raw.get("raw_vector"))

    @property
    def secure(self) -> bool:
        """Whether the round uses secure aggregation."""
        return "secure_aggregation" in self.raw

    @property
    def private(self) -> bool:
        """Whether the round has differential privacy."""
        return "privacy" in self.raw

    @property
    def seconds_left(self) -> float:
        """Seconds until the round ends."""
        return max(0.0, self.timeout_at - time.time())

    @property
    def is_over(self) -> bool:
        """True once the update is no longer needed, so training may stop."""
        return self.over.is_set() or (self.seconds_left == 0 and not self.asynchronous)


def plan_of(body: Json, clock_lead: float) -> Plan:
    """The plan in a response. `clock_lead`: seconds by which the service's clock, which set timeout_at, is ahead."""
    try:
        return Plan(
            round_id=body["round_id"],
            round_number=body["round_number"],
            strategy=body["strategy"],
            hyperparameters=body["hyperparameters"],
            job_id=body.get("job_id"),
            rounds_completed=body.get("rounds_completed"),
            asynchronous=body.get("asynchronous", False),
            timeout_at=timestamp("timeout_at", body["timeout_at"]) - clock_lead,
            model=_file_of(body.get("model"), "model"),
            control=_file_of(body.get("control"), "control"),
            raw=body,
        )
    except (KeyError, TypeError) as error:
        raise network_error(f"The service sent a plan that is not complete ({error}).") from None


def _file_of(entry: Json | None, what: str) -> RemoteFile | None:
    if entry is None:
        return None
    return RemoteFile(entry[f"{what}_size_bytes"], hex_of(f"{what}_hash", entry[f"{what}_hash"]))


def timestamp(field: str, text: Any) -> float:
    """Seconds since the epoch of an ISO 8601 time such as 2026-01-01T00:05:00.000Z."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (AttributeError, TypeError, ValueError):
        raise network_error(f"The service sent a {field} that is not a timestamp.") from None
