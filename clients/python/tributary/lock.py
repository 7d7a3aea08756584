"""One program for each device folder, whether it is `run` or `svc agent`: both use the same lock file."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from pathlib import Path

from .errors import TributaryError

#: For a lock whose process cannot be looked up, because it is on another machine: it is renewed while it is held.
DEAD_AFTER_SECONDS = 120.0
RENEWED_EVERY_SECONDS = 10.0
TAKEOVER_SECONDS = 0.2

#: Texts of this process's locks: one left by an earlier process with the same number is not among them.
_held: set[str] = set()


class FolderLock:
    """Makes this program the only one that works in `folder` until it releases the lock or ends.

    A lock file contains "<process id> <host> <random text>". The lock of a dead process is taken over.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "agent.lock"
        self._text = f"{os.getpid()} {socket.gethostname()} {uuid.uuid4()}"
        self._released = threading.Event()

    def __enter__(self) -> None:
        _held.add(self._text)
        try:
            if not self._take():
                raise TributaryError("conflict", self._refusal(), 409)
        except BaseException:
            _held.discard(self._text)
            raise
        threading.Thread(target=self._renew, name="device folder lock", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._released.set()
        if _read(self._path) == self._text:
            self._path.unlink(missing_ok=True)
        _held.discard(self._text)

    def _take(self) -> bool:
        if self._create():
            return True
        if not self._is_dead():
            return False
        self._path.unlink(missing_ok=True)
        if not self._create():
            return False
        # Another program may have found the same dead lock and replaced ours: the last one stays.
        time.sleep(TAKEOVER_SECONDS)
        return _read(self._path) == self._text

    def _create(self) -> bool:
        try:
            with open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(self._text)
            return True
        except FileExistsError:
            return False

    def _is_dead(self) -> bool:
        try:
            changed_at = self._path.stat().st_mtime
        except FileNotFoundError:
            return True
        text = _read(self._path)
        pid, host = _holder(text)
        # Windows has no signal that only asks whether a process is there.
        if host != socket.gethostname() or os.name == "nt":
            return time.time() - changed_at >= DEAD_AFTER_SECONDS
        if pid == os.getpid():
            return text not in _held
        # After a restart of the machine another process may have the number.
        return changed_at < time.time() - _uptime() or not _is_running(pid)

    def _refusal(self) -> str:
        pid, host = _holder(_read(self._path))
        holder = f"process {pid} on {host}" if host else "another process"
        return (
            f"The device folder {self._path.parent} is in use by {holder}. Stop that process, or run this program with "
            "another device_id or state_dir."
        )

    def _renew(self) -> None:
        while not self._released.wait(RENEWED_EVERY_SECONDS):
            try:
                os.utime(self._path)
            except OSError:
                pass


def _read(path: Path) -> str:
    """Empty if there is none. A program that dies while it creates the file leaves it empty."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def _holder(text: str) -> tuple[int, str]:
    pid, _, rest = text.partition(" ")
    return int(pid) if pid.isdecimal() else 0, rest.partition(" ")[0]


def _uptime() -> float:
    """Seconds since the machine was started."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def _is_running(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is another user's.
        pass
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether it has ended, but its parent has not asked for its exit status. False on systems without /proc."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[:1] == ["Z"]
    except OSError:
        return False
