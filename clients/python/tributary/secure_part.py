"""A device's part in a secure round (Bonawitz et al. 2017, section 4): the steps of src/secure-aggregation/device-part.ts.

Each step takes the part, plain data that can be stored as JSON, and returns the next. Store it privately, and before sending
its message. A device repeats no step: two different vectors under the same masks would reveal their difference.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .connection import Json
from .errors import TributaryError
from .secure_primitives import (
    KEY_BYTES,
    SEALED_BYTES,
    Route,
    add_masks,
    bad_request,
    from_hex,
    open_shares,
    order,
    pair_mask,
    public_key_of,
    seal_shares,
    seed_commitment,
    self_mask,
    share_key,
    split_secret,
)
from .weights import Array, Weights

Part = Json
#: A share's position is one non-zero byte.
MAX_DEVICES = 255
MAX_RANGE = 2**20
MAX_WEIGHT = 1_000_000
#: Losses and accuracies outside this range are clipped.
METRIC_RANGE = 1024


def conflict(message: str) -> TributaryError:
    """This device takes no further part in the round."""
    return TributaryError("conflict", message)


def checked_settings(settings: Json) -> Json:
    """The settings, checked as the service does: with a threshold of at most half of the devices, it could ask one half
    for one secret of a device, and the other half for the other."""
    devices, threshold, limit, weight = (settings.get(name) for name in ("devices", "threshold", "range", "max_weight"))
    if type(devices) is not int or not 2 <= devices <= MAX_DEVICES:
        raise bad_request(f"secure_aggregation: a round of {devices} devices cannot be secure.")
    lowest = devices // 2 + 1
    if type(threshold) is not int or not lowest <= threshold <= devices:
        raise bad_request(
            f"secure_aggregation.threshold is {threshold}; with {devices} devices it must be a whole number from {lowest} "
            f"(more than half) to {devices}."
        )
    if not isinstance(limit, (int, float)) or not 0 < limit <= MAX_RANGE:
        raise bad_request(f"secure_aggregation.range is {limit}; it must be greater than 0 and at most {MAX_RANGE}.")
    if type(weight) is not int or not 1 <= weight <= MAX_WEIGHT:
        raise bad_request(
            f"secure_aggregation.max_weight is {weight}; it must be a whole number from 1 to {MAX_WEIGHT}."
        )
    return {"devices": devices, "threshold": threshold, "range": limit, "max_weight": weight}


def changes_of(before: Weights, after: Weights) -> Iterable[Array]:
    """The changes of the floating-point tensors by name, in float64 and row-major order; integers are not summed."""
    for name in sorted(before, key=order):
        if not np.issubdtype(before[name].dtype, np.floating):
            continue
        change = after[name].astype(np.float64).ravel() - before[name].astype(np.float64).ravel()
        wrong = np.flatnonzero(~np.isfinite(change))
        if len(wrong) > 0:
            value = after[name].ravel()[wrong[0]]
            raise bad_request(
                f"Tensor {name!r} of the update is {value} at element {wrong[0]}. Lower the learning rate."
            )
        yield change


def encode(
    changes: Iterable[Array], num_samples: int, settings: Json, loss: float | None = None, accuracy: float | None = None
) -> tuple[Array, int]:
    """This device's input to the sum, as integers modulo 2^32, and how many coordinates were outside the range.

    The weight follows the coordinates, then loss and accuracy as (weight of the devices that report it, weighted value).
    """
    limit, weight = settings["range"], min(num_samples, settings["max_weight"])
    clipped, parts = 0, []
    for change in changes:
        clipped += int(np.count_nonzero(np.abs(change) > limit))
        parts.append(_fixed(np.clip(change, -limit, limit), weight, _scale(settings, limit)))
    parts.append(np.array([weight], "<u4"))
    for value in (loss, accuracy):
        if value is None:
            parts.append(np.zeros(2, "<u4"))
        else:
            inside = np.clip(np.array([value]), -METRIC_RANGE, METRIC_RANGE)
            parts += [np.array([weight], "<u4"), _fixed(inside, weight, _scale(settings, METRIC_RANGE))]
    return np.concatenate(parts), clipped


def _fixed(values: Array, weight: int, factor: float) -> Array:
    """round(value * weight * factor), ties rounded up."""
    scaled = values * weight * factor
    low = np.floor(scaled)
    return (low + (scaled - low >= 0.5)).astype(np.int64).astype("<u4")


def _scale(settings: Json, limit: float) -> float:
    """The largest power of two with which the sum of all devices at the limit fits into 31 bits and a sign."""
    most, largest = limit * settings["max_weight"], (2**31 - 1) // settings["devices"]
    return float(2.0 ** (math.frexp(largest / most)[1] - 1))


def advertise(round_id: str, device: str, settings: Json, random: Callable[[int], bytes] = os.urandom) -> Part:
    """Step 1: generate keys and the seed of the self mask."""
    encryption, masking, seed = (random(KEY_BYTES) for _ in range(3))
    return {
        "round_id": round_id,
        "device": device,
        "settings": settings,
        "step": "advertised",
        "secrets": {"encryption": encryption.hex(), "masking": masking.hex(), "seed": seed.hex()},
        "message": {"encryption_key": public_key_of(encryption).hex(), "masking_key": public_key_of(masking).hex()},
    }


def deal_shares(part: Part, roster: Mapping[str, Json]) -> Part:
    """Step 2: shares of the masking key and of the seed for every device of the roster. Raises TributaryError if it is
    smaller than the threshold, larger than agreed, or has different keys under this device's name."""
    _require_step(part, "advertised", "send shares")
    _require_roster(part, roster)
    round_id, device, threshold = part["round_id"], part["device"], part["settings"]["threshold"]
    names, seed = sorted(roster, key=order), bytes.fromhex(part["secrets"]["seed"])
    masking_keys = split_secret(bytes.fromhex(part["secrets"]["masking"]), len(names), threshold)
    pairs = dict(zip(names, zip(masking_keys, split_secret(seed, len(names), threshold))))
    own, sealed = pairs.pop(device), {}
    for peer, pair in pairs.items():
        route = Route(round_id, device, peer)
        sealed[peer] = seal_shares(_key_for(route, part, roster[peer]), route, pair).hex()
    return {
        **_common(part, "shared"),
        "secrets": part["secrets"],
        "roster": roster,
        "kept": _hex_pair(own),
        "message": {"seed_commitment": seed_commitment(round_id, device, seed).hex(), "sealed": sealed},
    }


def mask_input(part: Part, received: Mapping[str, str], words: Array) -> Part:
    """Step 3: mask `words` (see `encode`) in place. `received` are the shares that the other devices dealt to this one;
    devices missing from it have left. Raises TributaryError, with `words` unchanged, if a share was tampered with or
    fewer devices than the threshold remain."""
    _require_step(part, "shared", "mask its update")
    round_id, device, threshold = part["round_id"], part["device"], part["settings"]["threshold"]
    roster = part["roster"]
    for peer in received:
        if peer not in roster or peer == device:
            raise bad_request(f"There are shares from '{peer}', to which this device sent none.")
    if len(received) + 1 < threshold:
        count = len(received) + 1
        raise conflict(f"Only {count} devices sent shares; this device agreed to no fewer than {threshold}.")
    own = {name: bytes.fromhex(secret) for name, secret in part["secrets"].items()}
    held, masks = {device: part["kept"]}, [self_mask(round_id, device, own["seed"])]
    for peer, text in received.items():
        route = Route(round_id, peer, device)
        sealed = from_hex(text, SEALED_BYTES, f"The encrypted shares for '{device}'")
        held[peer] = _hex_pair(open_shares(_key_for(route, part, roster[peer]), route, sealed))
        masks.append(pair_mask(round_id, device, own["masking"], peer, bytes.fromhex(roster[peer]["masking_key"])))
    add_masks(words, masks)
    # The device's own secrets are not needed any more.
    return {**_common(part, "masked"), "held": held}


def reveal_shares(part: Part, delivered: Iterable[str]) -> Part:
    """Step 4: one share for every device of the sum: of its self mask if it is in `delivered`, otherwise of its masking
    key; never both. Raises TributaryError if the list differs from an earlier one, is below the threshold, or leaves
    this device out."""
    names = sorted(set(delivered), key=order)
    if part["step"] == "unmasked":
        if names == part["delivered"]:
            return part
        raise conflict(
            "This device has already revealed shares for another list. A second list could expose an update."
        )
    _require_step(part, "masked", "reveal shares")
    held, device, threshold = part["held"], part["device"], part["settings"]["threshold"]
    for name in names:
        if name not in held:
            raise bad_request(f"'{name}' is listed as having submitted, but it sent no shares.")
    if device not in names:
        raise conflict("This device submitted its update, but is missing from the list.")
    if len(names) < threshold:
        raise conflict(f"Only {len(names)} devices submitted; this device reveals nothing below {threshold}.")
    self_masks = {name: pair["self_mask"] for name, pair in held.items() if name in names}
    masking_keys = {name: pair["masking_key"] for name, pair in held.items() if name not in names}
    message = {"self_masks": self_masks, "masking_keys": masking_keys}
    return {**_common(part, "unmasked"), "delivered": names, "message": message}


def _require_step(part: Part, step: str, requested: str) -> None:
    if part["step"] != step:
        raise conflict(
            f"The device was asked to {requested}, but its part in this round is '{part['step']}'. No step is repeated."
        )


def _require_roster(part: Part, roster: Mapping[str, Json]) -> None:
    devices, threshold = part["settings"]["devices"], part["settings"]["threshold"]
    if not threshold <= len(roster) <= devices:
        raise conflict(
            f"The roster has {len(roster)} devices; this device agreed to between {threshold} and {devices}."
        )
    seen: set[str] = set()
    for name, keys in roster.items():
        for which in ("encryption_key", "masking_key"):
            from_hex(keys[which], KEY_BYTES, f"{which} of '{name}'")
            if keys[which] in seen:
                raise bad_request(f"The roster has a public key twice, the second time for '{name}'.")
            seen.add(keys[which])
    own = roster.get(part["device"], {})
    if any(own.get(which) != key for which, key in part["message"].items()):
        raise conflict(
            "The roster does not have the keys that this device advertised. It takes no part in such a round."
        )


def _key_for(route: Route, part: Part, peer_keys: Json) -> bytes:
    secret_key = bytes.fromhex(part["secrets"]["encryption"])
    return share_key(route, part["device"], secret_key, bytes.fromhex(peer_keys["encryption_key"]))


def _common(part: Part, step: str) -> dict[str, Any]:
    return {**{name: part[name] for name in ("round_id", "device", "settings")}, "step": step}


def _hex_pair(pair: tuple[bytes, bytes]) -> dict[str, str]:
    return {"masking_key": pair[0].hex(), "self_mask": pair[1].hex()}
