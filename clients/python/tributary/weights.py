"""Weight files as numpy arrays: safetensors, .npz, .npy, PyTorch (if torch is installed), float32 vectors."""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Arrays by name, in the order of the file.
Weights = dict[str, Array]
#: Element types by tensor name, as named in safetensors: F32, BF16, I64.
Types = dict[str, str]

# fmt: off
_NUMPY = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "BF16": "<u2", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}
# fmt: on
_NAMES = {np.dtype(code): name for name, code in _NUMPY.items() if name != "BF16"}
#: What PyTorch's files began with before 1.6. Other pickles are not its files.
_OLD_TORCH = 0x1950A86A20F9469CFC6C.to_bytes(10, "little")


class NotArrays(ValueError):
    """The file has a format that this package does not read, such as XGBoost's."""


def read_weights(path: str | Path, raw_vector: bool = False) -> tuple[Weights, Types]:
    """Read the arrays of a weight file and their types. Code in the file is never executed.

    The arrays may be changed in place without changing the file. numpy has no bfloat16: such tensors are returned as
    float32, with type BF16. `raw_vector`: the file is a raw little-endian float32 vector. Raises ValueError for files
    that are not weight files.
    """
    path = Path(path)
    if raw_vector:
        return {"vector": np.fromfile(path, "<f4")}, {"vector": "F32"}
    with path.open("rb") as file:
        start = file.read(32)
    if start[:6] == b"\x93NUMPY":
        return _typed({"array": np.load(path, allow_pickle=False)})
    if start[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if all(name.endswith(".npy") for name in names):
            with np.load(path, allow_pickle=False) as arrays:
                return _typed({name: arrays[name] for name in arrays.files})
        if any(name.endswith("/data.pkl") for name in names):
            return _read_torch(path)
    if start[8:9] == b"{":
        return _read_safetensors(path)
    if start[:1] == b"\x80" and _OLD_TORCH in start:
        return _read_torch(path)
    raise NotArrays(f"{path.name} is not a weight file: expected safetensors, .npz, .npy, or PyTorch.")


def write_weights(weights: Mapping[str, Any], types: Mapping[str, str] | None = None) -> bytes:
    """Encode arrays or tensors as safetensors. `types`: element types other than the arrays' own, such as BF16."""
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    at = 0
    for name, value in weights.items():
        if name == "__metadata__":
            raise ValueError("'__metadata__' cannot be the name of a tensor: safetensors files use it for metadata.")
        array = array_of(value, name)
        kind = (types or {}).get(name) or type_of(value, array, name)
        data = _to_bfloat16(array) if kind == "BF16" else np.ascontiguousarray(array, dtype=_NUMPY[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def to_numpy(value: Any) -> Array:
    """Convert a numpy or JAX array, torch tensor, Keras variable, or number to an array; bfloat16 becomes float32."""
    if hasattr(value, "detach"):
        value = (value.float() if _is_bfloat16(value) else value).numpy(force=True)
    array = np.asarray(value)
    return array.astype(np.float32) if _is_bfloat16(array) else array


def array_of(value: Any, name: str) -> Array:
    """`to_numpy`. Raises ValueError that names the tensor if it cannot be an array, such as float8 or quantized ones."""
    try:
        return to_numpy(value)
    except (TypeError, RuntimeError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be converted to an array: {error}") from error


def to_torch(weights: Mapping[str, Array], types: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Convert arrays to a PyTorch state dict, sharing memory if possible. Needs torch."""
    torch = _torch("To get weights as a state dict")
    state = {name: torch.from_numpy(np.require(array, requirements=["C", "W"])) for name, array in weights.items()}
    for name, kind in (types or {}).items():
        if kind == "BF16":
            state[name] = state[name].to(torch.bfloat16)
    return state


def conform(weights: Mapping[str, Any], like: Mapping[str, Array], label: str = "The weights") -> Weights:
    """Return the weights as arrays in the model's order and types. Raises ValueError that names what does not fit the
    model.

    Floats may be narrowed (numpy computes in float64 by default); integers must stay integers.
    """
    if not isinstance(weights, Mapping):
        raise ValueError(f"{label} must be a dict of arrays by name, got {type(weights).__name__}.")
    missing = [name for name in like if name not in weights]
    extra = [name for name in weights if name not in like]
    if missing or extra:
        # Both, because a prefix such as `module.` or `_orig_mod.` is seen at a glance.
        what = [f"{name!r} is missing" for name in missing[:1]] + [f"{name!r} is not part of it" for name in extra[:1]]
        raise ValueError(f"{label} do not match the model of the round: {', and '.join(what)}.")
    fitted: Weights = {}
    for name, model in like.items():
        array = array_of(weights[name], name)
        if array.shape != model.shape:
            raise ValueError(
                f"{label} do not match the model: {name!r} has shape {array.shape}, expected {model.shape}."
            )
        if not np.can_cast(array.dtype, model.dtype, "same_kind"):
            raise ValueError(
                f"{label} do not match the model: {name!r} has type {array.dtype}, expected {model.dtype}."
            )
        fitted[name] = array.astype(model.dtype, copy=False)
    return fitted


def type_of(value: Any, array: Array, name: str) -> str:
    """The safetensors name of the element type. Raises ValueError for types that weights cannot have."""
    if _is_bfloat16(value):
        return "BF16"
    kind = _NAMES.get(array.dtype.newbyteorder("<"))
    if kind is None:
        raise ValueError(f"{name!r} has type {array.dtype}, which a weight file cannot contain.")
    return kind


def _is_bfloat16(value: Any) -> bool:
    """PyTorch, TensorFlow, and ml_dtypes (JAX, Keras) each have a type of their own with this name."""
    return "bfloat16" in str(getattr(value, "dtype", ""))


def _typed(arrays: Weights) -> tuple[Weights, Types]:
    return arrays, {name: type_of(array, array, name) for name, array in arrays.items()}


def _read_safetensors(path: Path) -> tuple[Weights, Types]:
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > size - 8:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        start = 8 + length
        # Copy on write: a large model is not read twice, and may be changed in place.
        data = np.memmap(path, mode="c")[start:] if size > start else np.empty(0, np.uint8)
        weights, types = {}, {}
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
            kind, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
            if kind not in _NUMPY:
                raise ValueError(f"tensor {name!r} has type {kind}, which numpy does not support")
            width = np.dtype(_NUMPY[kind]).itemsize
            if not 0 <= first <= last <= len(data) or last - first != width * math.prod(shape):
                raise ValueError(f"the data of tensor {name!r} is outside the file or does not match its shape")
            array = np.ndarray(shape, _NUMPY[kind], data, first)
            if kind == "BF16":
                array = (array.astype("<u4") << 16).view("<f4")
            weights[name] = array if array.flags.aligned else array.copy()
            types[name] = kind
        return weights, types
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"{path.name} is not a valid safetensors file: {error}.") from error


def _to_bfloat16(array: Array) -> bytes:
    """Rounded to nearest, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(array, "<f4").view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype("<u2").tobytes()


def _torch(why: str) -> Any:
    try:
        import torch
    except ImportError:
        raise ValueError(f"{why}, torch must be installed: pip install torch. Or push safetensors.") from None
    return torch


def _read_torch(path: Path) -> tuple[Weights, Types]:
    state = _torch(f"To read {path.name}, which is a PyTorch file").load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, Mapping) or not all(hasattr(value, "detach") for value in state.values()):
        raise ValueError(f"{path.name} is a PyTorch file, but not a state dict: it must contain only tensors by name.")
    weights = {name: array_of(value, name) for name, value in state.items()}
    return weights, {name: type_of(state[name], array, name) for name, array in weights.items()}
