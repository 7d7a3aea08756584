"""All steps of a device in a secure round, from which the service learns nothing but the sum of the updates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .connection import Json
from .device import Device, write_whole
from .errors import TributaryError
from .plan import Plan
from .secure_part import Part, advertise, checked_settings, conflict, deal_shares, mask_input, reveal_shares
from .weights import Array


def take_secure_part(device: Device, plan: Plan, path: Path, train: Callable[[Json], Array]) -> None:
    """Keys, shares, `train(settings)`, which returns the encoded update, the masked update, and unmasking.

    Each step is written to `path` before it is sent, and a restart continues there. If interrupted during delivery, the
    device leaves the round, because a second delivery under the same masks could reveal the first. Raises TributaryError:
    conflict if the round has failed or excludes this device, bad_request if what the service sent cannot be trusted.
    """

    def keep(part: Part) -> Part:
        write_whole(path, json.dumps(part).encode())
        return part

    part = _read(path, plan.round_id)
    if part is None:
        state = device.secure_state(plan)
        if state["status"] != "advertising" or state["device_id"] is None:
            raise _gone(state)
        part = keep(advertise(plan.round_id, state["device_id"], checked_settings(state["settings"])))
    if part["step"] == "advertised":
        device.send_secure(plan, "keys", part["message"])
        state = _past(device, plan, "advertising")
        if state["roster"] is None:
            raise _gone(state)
        part = keep(deal_shares(part, state["roster"]))
    if part["step"] == "shared":
        device.send_secure(plan, "shares", part["message"])
        words = train(part["settings"])
        state = _past(device, plan, "sharing")
        if state["shares"] is None:
            raise _gone(state)
        part = keep(mask_input(part, state["shares"], words))
        # The number of samples is part of the sum, and not for the service to see.
        device.submit(plan, words.tobytes(), 1)
    elif part["step"] == "masked":
        state = device.secure_state(plan)
        if not state["answered" if state["status"] == "masking" else "counted"]:
            raise conflict("This device was interrupted while submitting its masked update, and leaves the round.")
    if part["step"] == "masked":
        delivered = _past(device, plan, "masking")["delivered"]
        # Otherwise, enough other devices have revealed their shares.
        if delivered is None:
            return
        part = keep(reveal_shares(part, delivered))
    try:
        device.send_secure(plan, "unmask", part["message"])
    except TributaryError:
        # No failure if enough devices have answered in the meantime.
        if device.secure_state(plan)["status"] != "done":
            raise


def _past(device: Device, plan: Plan, status: str) -> Json:
    """The state once the round is past `status`. Raises TributaryError if it failed or continues without this device."""
    while True:
        state = device.secure_state(plan, known_status=status)
        if state["status"] == "failed" or (not state["counted"] and state["status"] != "done"):
            raise _gone(state)
        if state["status"] != status:
            return state
        # A service that is about to stop may not hold the response.
        device.connection.pause(0.2)


def _gone(state: Json) -> TributaryError:
    if state["status"] == "failed":
        return conflict(f"The secure round has failed. {state['reason'] or ''}".strip())
    return conflict(f"The secure round is {state['status']}, and this device is not part of it.")


def _read(path: Path, round_id: str) -> Part | None:
    """None if missing or damaged: the round then has other keys for this device, which leaves it."""
    try:
        part = json.loads(path.read_text())
        return part if part["round_id"] == round_id else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
