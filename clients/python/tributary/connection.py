"""HTTP with the standard library: keys, retries, resumable downloads, and forms."""

from __future__ import annotations

import email.utils
import hashlib
import http.client
import json
import logging
import os
import random
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from .errors import TributaryError, network_error

log = logging.getLogger("tributary")

T = TypeVar("T")
Json = dict[str, Any]

ATTEMPTS = 8
TOTAL_SECONDS = 120.0
FIRST_WAIT_SECONDS = 0.5
MAX_WAIT_SECONDS = 20.0
MAX_RETRY_AFTER_SECONDS = 3600.0
TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 20
NO_CONTENT = 204
TOO_LARGE = 413
RANGE_REFUSED = 416
#: OpenSSL's codes: not yet valid, expired.
CERTIFICATE_OUTDATED = (9, 10)
#: OpenSSL's codes: the host, or the IP address, is not in the certificate.
CERTIFICATE_OF_ANOTHER_HOST = (62, 64)
#: An upload may take half a minute, plus one second for this many bytes.
SLOWEST_BYTES_PER_SECOND = 64 * 1024


class Stopped(Exception):
    """The program was asked to stop."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are not followed: they would send the key and the weights to an address that nobody configured."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def parse_retry_after(header: str | None) -> float | None:
    """Seconds from now: Retry-After is a number of seconds or an HTTP date. None when absent or unreadable."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def quote(part: str) -> str:
    """A name or an id as a segment of a path. Proxies resolve '.' and '..', and would send the request to another object."""
    if part in ("", ".", ".."):
        raise TributaryError("bad_request", f"{part!r} is not the name or id of an object.")
    return urllib.parse.quote(part, safe="")


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def hex_of(field: str, text: Any) -> str:
    """The 64 hex digits of sha256:<hex>."""
    if isinstance(text, str) and len(text) == 71 and text.startswith("sha256:"):
        return text[7:]
    raise network_error(f"The service sent a {field} that is not sha256:<hex>.")


def _advice(reason: Any) -> str:
    """What to do after a request that got no response."""
    if not isinstance(reason, ssl.SSLCertVerificationError):
        return "Is the service running and the address right?"
    if reason.verify_code in CERTIFICATE_OUTDATED:
        return "Renew the service's certificate, or correct this machine's clock."
    if reason.verify_code in CERTIFICATE_OF_ANOTHER_HOST:
        return "The service's certificate is for another host: use that one in the service's address."
    return (
        "This machine does not know the authority of the certificate. If it is your own, set SSL_CERT_FILE to its "
        "certificate file."
    )


def form_of(fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]]) -> tuple[str, bytes]:
    """Content type and body of a multipart/form-data form. Fields come first, so that they arrive before the files."""
    boundary = f"tributary-{random.getrandbits(128):032x}"
    parts: list[bytes] = []
    for name, value in fields.items():
        parts.append(f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    for name, (file_name, content) in files.items():
        quoted = file_name.replace("\\", "%5C").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"; filename="{quoted}"\r\n'
        parts += [head.encode(), b"content-type: application/octet-stream\r\n\r\n", content, b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


class Connection:
    """A connection to one service: adds the key to each request and bounds every wait. Raises TributaryError.

    With `outlasts_others`, a response that is not from the service is a network error: a proxy or a hotspot that answers
    in the service's place says nothing about the device or its key.
    """

    def __init__(
        self, url: str, key: str | None = None, stop: threading.Event | None = None, *, outlasts_others: bool = False
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"The address must look like http://127.0.0.1:8000, got {url!r}.")
        self.url = url.rstrip("/")
        self.key = key
        self.stop = stop or threading.Event()
        self.outlasts_others = outlasts_others
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._warned: set[str] = set()

    def pause(self, seconds: float) -> None:
        """Wait; raises Stopped as soon as the program is asked to stop."""
        if self.stop.wait(max(0.0, seconds)):
            raise Stopped

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | IO[bytes] | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> http.client.HTTPResponse:
        """Send once and return the open response, which the caller closes."""
        if self.stop.is_set():
            raise Stopped
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.url}/api/v1{path}" + (f"?{urllib.parse.urlencode(asked)}" if asked else "")
        request = urllib.request.Request(url, data=body, method=method, headers={**(headers or {})})
        if self.key is not None:
            request.add_unredirected_header("authorization", f"Bearer {self.key}")
        try:
            answer: http.client.HTTPResponse = self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error or type(error).__name__
            unanswered = network_error(f"No response from {self.url} ({reason}). {_advice(reason)}")
            unanswered.is_unsent = isinstance(
                reason, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)
            )
            raise unanswered from error
        self._show_warning(answer.headers.get("x-service-warning"))
        return answer

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        until: float | None = None,
        repeats: bool | None = None,
        **options: Any,
    ) -> Json:
        """Send a request with retries (see `retrying`) and return the JSON of a successful response; {} of a 204.

        A response without the fields that `expects` names (`a|b`: one of them) is not from the service. `repeats` is by
        default false for the POST requests of a client, which could, for example, start a second job.
        """
        if repeats is None:
            repeats = method != "POST" or self.outlasts_others
        headers = {}
        if body is not None:
            headers["content-type"] = "application/json"
            options["body"] = json.dumps(body, allow_nan=False, default=plain).encode()
        return self.retrying(
            f"{method} {path}", lambda: self._json(method, path, headers=headers, **options), until, repeats
        )

    def submit(
        self,
        path: str,
        fields: Mapping[str, str],
        files: Mapping[str, tuple[str, bytes]],
        until: float | None = None,
        expects: Sequence[str] = (),
        repeats: bool = True,
    ) -> Json:
        """Send a form; after a broken connection, send all of it again if it `repeats`."""
        content_type, body = form_of(fields, files)
        headers = {"content-type": content_type}
        timeout = TIMEOUT_SECONDS + len(body) / SLOWEST_BYTES_PER_SECOND
        options: Json = {"headers": headers, "body": body, "timeout": timeout, "expects": expects}
        return self.retrying(f"POST {path}", lambda: self._json("POST", path, **options), until, repeats)

    def download(self, path: str, target: Path, size: int, sha256: str, until: float | None = None) -> None:
        """Download into `target`, resuming a partial file, even from an earlier run. Verifies size and hash."""
        self.retrying(f"GET {path}", lambda: self._download_once(path, target, size, sha256), until)

    def upload(self, path: Path, size: int, sha256: str) -> None:
        """Upload a large file of a version to /uploads, resuming where an earlier attempt or run stopped."""
        furthest = 0

        def attempt() -> None:
            nonlocal furthest
            with self.open("HEAD", f"/uploads/{sha256}", query={"size": size}) as answer:
                offset = int(answer.headers.get("upload-offset") or 0)
            progressed, furthest = offset > furthest, max(offset, furthest)
            try:
                if offset < size:
                    self._send_from(offset, path, size, sha256)
            except TributaryError as error:
                error.progressed = progressed
                raise

        self.retrying(f"upload of {path.name}", attempt)

    def retrying(self, what: str, attempt: Callable[[], T], until: float | None = None, repeats: bool = True) -> T:
        """Retry `attempt` after network errors, 429, 500, 502, 503, and 504, but after no other error. Unless it
        `repeats`, retry it only if the service has certainly not received it.

        Raises the last error after eight attempts in a row without progress, or when the next attempt would begin later
        than `until` (by `time.time`; by default two minutes from now).
        """
        ends = time.monotonic() + (TOTAL_SECONDS if until is None else until - time.time())
        failures = 0
        while True:
            try:
                return attempt()
            except TributaryError as error:
                if not error.is_passing:
                    raise
                if error.may_have_arrived and not repeats:
                    message = f"{error.message} It may have had its effect: check before you repeat it."
                    raise TributaryError(error.code, message, error.status) from error
                failures = 1 if error.progressed else failures + 1
                if error.retry_after is not None:
                    wait = min(error.retry_after, MAX_RETRY_AFTER_SECONDS) * (1 + random.random() / 10)
                else:
                    # The upper half is random: devices that were cut off together should not retry together.
                    wait = min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** (failures - 1)) * (0.5 + random.random() / 2)
                if failures >= ATTEMPTS or time.monotonic() + wait > ends:
                    raise
                log.warning("%s: %s Trying again in %.1f s.", what, error.message, wait)
                self.pause(wait)

    def _json(self, method: str, path: str, *, expects: Sequence[str] = (), **options: Any) -> Json:
        """Send once and return the JSON of the response. What has arrived as a complete response is not sent again,
        because it has had its effect; `outlasts_others` excepts responses that are not from the service.
        """
        with self.open(method, path, **options) as answer:
            status = answer.status
            try:
                body = json.loads(answer.read() or b"null")
            except (OSError, http.client.HTTPException) as error:
                raise network_error(f"The connection to {self.url} broke ({error}).") from error
            except ValueError:
                body = None
        if isinstance(body, dict) and all(any(name in body for name in names.split("|")) for names in expects):
            return body
        # No call of a device is answered without a body.
        if status == NO_CONTENT and not self.outlasts_others and not expects:
            return {}
        contents = f" that contains {' and '.join(expects).replace('|', ' or ')}" if expects else ""
        message = f"{self.url} did not respond to {method} {path} with a JSON object{contents}. Is it the service?"
        raise network_error(message) if self.outlasts_others else TributaryError("unknown", message, status)

    def _send_from(self, offset: int, path: Path, size: int, sha256: str) -> None:
        headers = {
            "content-type": "application/octet-stream",
            "content-length": str(size - offset),
            "upload-offset": str(offset),
            "upload-length": str(size),
        }
        with path.open("rb") as file:
            file.seek(offset)
            try:
                self.open("PATCH", f"/uploads/{sha256}", headers=headers, body=file).close()
            except TributaryError as error:
                if error.status != 409 or error.retry_after is None:
                    raise
                # The file is locked until the service notices that an earlier connection broke.
                raise TributaryError("network_error", error.message, 0, error.retry_after) from None

    def _download_once(self, path: str, target: Path, size: int, sha256: str) -> None:
        had = target.stat().st_size if target.exists() else 0
        if had > size:
            target.unlink()
            had = 0
        if had < size:
            headers = {"range": f"bytes={had}-", "if-range": f'"{sha256}"'} if had > 0 else {}
            try:
                with self.open("GET", path, headers=headers) as answer, target.open("ab") as file:
                    if answer.status != 206:
                        file.truncate(0)
                    elif not (answer.headers.get("content-range") or "").startswith(f"bytes {had}-"):
                        raise network_error("The service sent a different part of the file than the requested one.")
                    _copy(answer, file, size)
            except TributaryError as error:
                if error.status == 416:
                    target.unlink(missing_ok=True)
                    raise network_error(error.message) from None
                arrived = target.stat().st_size if target.exists() else 0
                error.progressed = arrived > had
                raise
        digest = sha256_of(target)
        if digest != sha256:
            target.unlink()
            raise network_error(f"The file arrived with sha256 {digest} instead of {sha256}.")

    def _refusal(self, error: urllib.error.HTTPError) -> TributaryError:
        with error:
            try:
                body = json.loads(error.read())
            except (OSError, http.client.HTTPException, ValueError):
                body = None
        refusal = TributaryError.from_answer(error.code, body, parse_retry_after(error.headers.get("retry-after")))
        if not self.outlasts_others or refusal.code != "unknown" or refusal.is_passing or error.code == RANGE_REFUSED:
            return refusal
        if error.code == TOO_LARGE:
            message = f"A proxy in front of {self.url} does not accept a request of this size (413). Raise its limit."
            return TributaryError("bad_request", message, error.code)
        return network_error(refusal.message)

    def _show_warning(self, warning: str | None) -> None:
        """Log each warning once, because heartbeats repeat them; the number remembered is bounded."""
        if warning is None or warning in self._warned or len(self._warned) >= 100:
            return
        self._warned.add(warning)
        log.warning("The service warns: %s", warning)


def _copy(answer: http.client.HTTPResponse, file: IO[bytes], size: int) -> None:
    while chunk := _read(answer):
        if file.tell() + len(chunk) > size:
            file.truncate(0)
            raise network_error(f"More than the announced {size} bytes arrived.")
        file.write(chunk)
    if file.tell() < size:
        raise network_error(f"Only {file.tell()} of {size} bytes arrived.")


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise network_error(f"The connection broke during the download ({error}).") from error


def plain(value: Any) -> Any:
    """A numpy or torch scalar as a number."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be sent as JSON.")


def home() -> Path:
    """SERVICE_HOME, otherwise ~/.svc: the folder that the command line and the agent also use."""
    return Path(os.environ.get("SERVICE_HOME") or Path.home() / ".svc")
