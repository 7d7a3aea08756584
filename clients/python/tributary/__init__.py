"""Python client of Tributary: take part in federated training, and manage it. See docs/python.md."""

from .client import Client, Group, Job, Rollout
from .device import Device, Heartbeat
from .errors import TributaryError
from .plan import Plan
from .round_work import RoundResult
from .run import RoundFailed, run
from .strategies import proximal_gradient, proximal_loss
from .version import VERSION as __version__
from .weights import Weights, read_weights, to_torch, write_weights

__all__ = [
    "Client",
    "Device",
    "Group",
    "Heartbeat",
    "Job",
    "Plan",
    "Rollout",
    "RoundFailed",
    "RoundResult",
    "TributaryError",
    "Weights",
    "__version__",
    "proximal_gradient",
    "proximal_loss",
    "read_weights",
    "run",
    "to_torch",
    "write_weights",
]
