"""Weight files."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from tributary import read_weights, write_weights
from tributary.weights import NotArrays, conform


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_each_type_is_read_as_it_was_written(tmp_path: Path) -> None:
    types = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
    weights = {f"a {kind} \u00e9": np.arange(6).reshape(2, 3).astype(kind) for kind in types}
    weights |= {
        "scalar": np.float32(2.5).reshape(()),
        "empty": np.zeros((0, 3), "f4"),
        "big": np.arange(3, dtype=">f4"),
    }
    found, names = read_weights(written(tmp_path / "w", write_weights(weights)))
    assert list(found) == list(weights)
    assert names["scalar"] == "F32" and names["a ? \u00e9"] == "BOOL"
    for name, array in weights.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("<")


def test_what_was_read_may_be_changed_and_the_file_stays(tmp_path: Path) -> None:
    path = written(tmp_path / "w", write_weights({"w": np.zeros(3, "f4")}))
    read_weights(path)[0]["w"] += 1
    np.testing.assert_array_equal(read_weights(path)[0]["w"], np.zeros(3))


def test_bfloat16_is_rounded_to_nearest_with_ties_to_even(tmp_path: Path) -> None:
    values = np.array(
        [1.0, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-9, np.inf, -np.inf, np.nan, 3.4e38, 2**-133 + 2**-149], "f4"
    )
    path = written(tmp_path / "w", write_weights({"w": values}, {"w": "BF16"}))
    found, types = read_weights(path)
    assert types == {"w": "BF16"}
    expected = np.array([1.0, 1.0, 1 + 2**-6, -1.0, np.inf, -np.inf, np.nan, np.inf], "f4")
    np.testing.assert_array_equal(found["w"][:8], expected)
    assert found["w"][8] == np.float32(2**-133)
    assert write_weights(found, types) == path.read_bytes()


class Foreign:
    """A tensor of another library."""

    def __init__(self, dtype: str, error: Exception | None = None) -> None:
        self.dtype, self.error = dtype, error

    def __array__(self, *_: Any, **__: Any) -> Any:
        if self.error is not None:
            raise self.error
        return np.ones(2, "f4")


@pytest.mark.parametrize("dtype", ["bfloat16", "torch.bfloat16", "<dtype: 'bfloat16'>"])
def test_bfloat16_of_other_libraries_is_stored_as_such(tmp_path: Path, dtype: str) -> None:
    found, types = read_weights(written(tmp_path / "w", write_weights({"w": Foreign(dtype)})))
    assert (found["w"].tolist(), types) == ([1.0, 1.0], {"w": "BF16"})


def test_arrays_of_jax_and_keras_in_bfloat16_are_stored_as_such(tmp_path: Path) -> None:
    array = np.arange(3).astype(pytest.importorskip("ml_dtypes").bfloat16)
    found, types = read_weights(written(tmp_path / "w", write_weights({"w": array})))
    assert (found["w"].tolist(), types) == ([0.0, 1.0, 2.0], {"w": "BF16"})
    assert conform({"w": array}, found)["w"].dtype == np.float32


def test_a_tensor_that_cannot_be_an_array_is_named() -> None:
    with pytest.raises(ValueError, match="'layer.w' cannot be converted to an array: Got unsupported ScalarType QInt8"):
        write_weights({"layer.w": Foreign("torch.qint8", TypeError("Got unsupported ScalarType QInt8"))})


def test_the_name_of_the_metadata_is_no_name_of_a_tensor() -> None:
    with pytest.raises(ValueError, match="'__metadata__' cannot be the name of a tensor"):
        write_weights({"__metadata__": np.zeros(1)})


def test_numpy_files_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", a=np.ones(2, "f4"), b=np.arange(3))
    np.save(tmp_path / "w.npy", np.ones((2, 2)))
    found, types = read_weights(tmp_path / "w.npz")
    assert ({name: array.tolist() for name, array in found.items()}, types) == (
        {"a": [1, 1], "b": [0, 1, 2]},
        {"a": "F32", "b": "I64"},
    )
    assert read_weights(tmp_path / "w.npy")[0]["array"].tolist() == [[1, 1], [1, 1]]
    (tmp_path / "w.f32").write_bytes(struct.pack("<2f", 1, 2))
    assert read_weights(tmp_path / "w.f32", raw_vector=True)[0]["vector"].tolist() == [1, 2]


def tensor(**changes: Any) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    header = json.dumps({"w": entry}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a weight file"),
        (b"hello world", "not a weight file"),
        (struct.pack("<Q", 2**60) + b"{", "header is longer"),
        (tensor()[:-1], "is outside the file"),
        (tensor(shape=[3]), "does not match its shape"),
        (tensor(data_offsets=[-4, 4]), "is outside the file"),
        (tensor(data_offsets=[4, 12]), "is outside the file"),
        (tensor(dtype="F8_E4M3"), "which numpy does not support"),
        (tensor(shape=None), "not a valid safetensors file"),
        (tensor(data_offsets=["0", 8]), "not a valid safetensors file"),
        (struct.pack("<Q", 2) + b"{]", "not a valid safetensors file"),
        (struct.pack("<Q", 8) + b'{"a": 1}', "not a valid safetensors file"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_weights(written(tmp_path / "w", content))


def test_pickles_in_npz_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", a=np.array([{"a": 1}], object))
    with pytest.raises(ValueError, match="allow_pickle"):
        read_weights(tmp_path / "w.npz")


def test_weights_take_the_types_and_the_order_of_the_model() -> None:
    model = {"w": np.zeros(2, "f4"), "steps": np.zeros((), "i8")}
    fitted = conform({"steps": 3, "w": [1.0, 2.0]}, model)
    assert [(name, array.dtype.str, array.tolist()) for name, array in fitted.items()] == [
        ("w", "<f4", [1.0, 2.0]),
        ("steps", "<i8", 3),
    ]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "'w' is missing"),
        ({"w": np.zeros(2), "v": 1}, "'v' is not part of it"),
        ({"_orig_mod.w": np.zeros(2)}, "'w' is missing, and '_orig_mod.w' is not part of it"),
        ({"w": np.zeros(3)}, r"'w' has shape \(3,\), expected \(2,\)"),
        ({"w": np.zeros(2, complex)}, "'w' has type complex128, expected float32"),
        ({"w": np.array(["a", "b"])}, "'w' has type <U1, expected float32"),
        ([np.zeros(2)], "must be a dict"),
    ],
)
def test_weights_of_another_model_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conform(weights, {"w": np.zeros(2, "f4")})


@pytest.mark.parametrize("name", ["gaussian_a.pkl", "refused_protocol2.pkl", "logistic_a.joblib", "net_a.keras"])
def test_pickles_and_archives_of_others_are_not_taken_for_files_of_pytorch(name: str) -> None:
    with pytest.raises(NotArrays):
        read_weights(ROOT / "test" / "fixtures" / "frameworks" / name)


def test_old_files_of_pytorch_are_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tributary.weights._read_torch", lambda path: ({}, {}))
    for protocol in (2, 4):
        path = written(tmp_path / "w", pickle.dumps(0x1950A86A20F9469CFC6C, protocol))
        assert read_weights(path) == ({}, {})
