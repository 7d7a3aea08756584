"""The keys, masks, and shares of secure aggregation, byte for byte those of src/secure-aggregation. Needs cryptography."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .errors import TributaryError
from .weights import Array

KEY_BYTES = 32
#: The polynomial's value for each byte of the secret, followed by its position.
SHARE_BYTES = KEY_BYTES + 1
NONCE_BYTES = 24
#: Nonce, two encrypted shares, tag.
SEALED_BYTES = NONCE_BYTES + 2 * SHARE_BYTES + 16
#: 256 KB: stays in the cache while all masks are added to it.
CHUNK_WORDS = 1 << 16


class Mask(NamedTuple):
    """A key, used only for this mask, whose stream is added to a vector (sign 1) or subtracted from it (sign -1)."""

    key: bytes
    sign: int


class Route(NamedTuple):
    round_id: str
    sender: str
    receiver: str


def bad_request(message: str) -> TributaryError:
    """What the service sent cannot be trusted."""
    return TributaryError("bad_request", message)


def order(name: str) -> bytes:
    """A sort key for names: JavaScript compares UTF-16 code units, Python code points."""
    return name.encode("utf-16-be")


def from_hex(text: Any, length: int, what: str) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * length or not re.fullmatch("[0-9a-f]*", text):
        raise bad_request(f"{what} must be {length} bytes in lowercase hex.")
    return bytes.fromhex(text)


def public_key_of(secret_key: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(secret_key).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def share_key(route: Route, device: str, secret_key: bytes, peer_public_key: bytes) -> bytes:
    """The key with which `sender` encrypts shares for `receiver`. Only these two can compute it."""
    peer = route.receiver if device == route.sender else route.sender
    agreed = _agree(secret_key, peer_public_key, peer)
    return _derive(agreed, route.round_id, "share encryption", (route.sender, route.receiver))


def pair_mask(round_id: str, device: str, secret_key: bytes, peer: str, peer_public_key: bytes) -> Mask:
    """The mask between two devices: one adds it and the other subtracts it (Bonawitz et al. 2017, section 4.0.1)."""
    pair = sorted((device, peer), key=order)
    key = _derive(_agree(secret_key, peer_public_key, peer), round_id, "pairwise mask", pair)
    return Mask(key, 1 if pair[0] == device else -1)


def self_mask(round_id: str, device: str, seed: bytes) -> Mask:
    """The mask that keeps a device's vector hidden even if it arrives late (section 4.0.2)."""
    return Mask(_derive(seed, round_id, "self mask", (device,)), 1)


def seed_commitment(round_id: str, device: str, seed: bytes) -> bytes:
    """Shows whether a seed was reconstructed correctly, and reveals nothing else about it."""
    return _derive(seed, round_id, "commitment to the self mask", (device,))


def _derive(secret: bytes, round_id: str, purpose: str, devices: Sequence[str]) -> bytes:
    """HKDF-SHA256 for a single purpose. Each part has its length, so that no two lists are encoded alike."""
    parts = [part.encode() for part in (f"tributary secure aggregation v1: {purpose}", *devices)]
    info = b"".join(len(part).to_bytes(2, "big") + part for part in parts)
    return HKDF(SHA256(), KEY_BYTES, round_id.encode(), info).derive(secret)


def _agree(secret_key: bytes, public_key: bytes, peer: str) -> bytes:
    """X25519. Refuses points of small order: they give a secret that is publicly known (RFC 7748, section 6.1)."""
    try:
        own = X25519PrivateKey.from_private_bytes(secret_key)
        return own.exchange(X25519PublicKey.from_public_bytes(public_key))
    except ValueError:
        raise bad_request(f"The public key of device '{peer}' is not valid for key agreement.") from None


def add_masks(words: Array, masks: Sequence[Mask]) -> None:
    """Add masks to the uint32 `words` in place, modulo 2^32: ChaCha20 keystreams with nonce zero from block 0."""
    streams = [(Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor(), sign) for key, sign in masks]
    zeros = bytes(4 * CHUNK_WORDS)
    for start in range(0, len(words), CHUNK_WORDS):
        chunk = words[start : start + CHUNK_WORDS]
        for stream, sign in streams:
            mask = np.frombuffer(stream.update(zeros[: 4 * len(chunk)]), "<u4")
            (np.add if sign == 1 else np.subtract)(chunk, mask, out=chunk)


def split_secret(secret: bytes, count: int, threshold: int) -> list[bytes]:
    """Shamir's scheme over GF(256): any `threshold` of the `count` shares give the secret; fewer reveal nothing."""
    places = np.array(secrets.SystemRandom().sample(range(1, 256), count), np.uint8)[:, None]
    coefficients = np.frombuffer(os.urandom(len(secret) * (threshold - 1)) + secret, np.uint8)
    values = np.zeros((count, len(secret)), np.uint8)
    for row in coefficients.reshape(threshold, len(secret)):  # Horner's method, for all bytes of all shares at once
        values = _times(values, places) ^ row
    return [share.tobytes() for share in np.hstack([values, places])]


def _times(a: Array, b: Array) -> Array:
    """The products in GF(256) modulo x^8 + x^4 + x^3 + x + 1, without tables, whose use would depend on secrets."""
    product = np.zeros(np.broadcast(a, b).shape, np.uint8)
    for bit in range(8):
        product ^= a * (b >> bit & 1)
        a = (a << 1) ^ ((a >> 7) * np.uint8(0x1B))
    return product


def seal_shares(key: bytes, route: Route, pair: tuple[bytes, bytes], nonce: bytes | None = None) -> bytes:
    """Encrypt the shares of the masking key and of the self mask for a peer with XChaCha20-Poly1305."""
    nonce = nonce or os.urandom(NONCE_BYTES)
    return nonce + _xchacha(key, nonce).encrypt(_rest(nonce), b"".join(pair), _associated_data(route))


def open_shares(key: bytes, route: Route, sealed: bytes) -> tuple[bytes, bytes]:
    nonce = sealed[:NONCE_BYTES]
    try:
        plain = _xchacha(key, nonce).decrypt(_rest(nonce), sealed[NONCE_BYTES:], _associated_data(route))
    except InvalidTag:
        raise bad_request(
            f"The shares from device '{route.sender}' for '{route.receiver}' cannot be decrypted: they were changed on "
            "the way, or belong to another round."
        ) from None
    return plain[:SHARE_BYTES], plain[SHARE_BYTES:]


def _associated_data(route: Route) -> bytes:
    """Also authenticates the round and both names."""
    return json.dumps(["shares", *route], ensure_ascii=False, separators=(",", ":")).encode()


def _xchacha(key: bytes, nonce: bytes) -> ChaCha20Poly1305:
    """The cipher under the subkey of HChaCha20 (draft-irtf-cfrg-xchacha, section 2.2), which cryptography lacks.

    It is the first and the last row of a ChaCha20 block, before that block's input is added to its output.
    """
    block = Cipher(algorithms.ChaCha20(key, nonce[:16]), mode=None).encryptor().update(bytes(64))
    rows = np.frombuffer(block, "<u4").reshape(4, 4)
    first = rows[0] - np.frombuffer(b"expand 32-byte k", "<u4")
    last = rows[3] - np.frombuffer(nonce[:16], "<u4")
    return ChaCha20Poly1305(first.tobytes() + last.tobytes())


def _rest(nonce: bytes) -> bytes:
    return bytes(4) + nonce[16:]
