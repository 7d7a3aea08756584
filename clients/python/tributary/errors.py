"""The exception that this package raises."""

from __future__ import annotations

from typing import Any

#: Statuses after which a retry may succeed.
PASSING = frozenset({429, 500, 502, 503, 504})


class TributaryError(Exception):
    """The service refused a request or could not be reached.

    `code` is the service's error code, such as "not_found"; "network_error" if no complete response arrived; "unknown"
    if the response was not from the service. `status` is the HTTP status, or 0 without a response.
    """

    def __init__(self, code: str, message: str, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        #: Seconds to wait before the next attempt, if the service named them.
        self.retry_after = retry_after
        #: Whether a transfer made progress before this error: the count of attempts then starts over.
        self.progressed = False
        #: Whether the request certainly did not reach the service.
        self.is_unsent = False

    @property
    def is_passing(self) -> bool:
        """True if a later attempt may succeed."""
        return self.status in PASSING or self.code == "network_error"

    @property
    def may_have_arrived(self) -> bool:
        """True if the service may have received the request, so that it may have had its effect."""
        return self.status in (500, 502, 504) or (self.code == "network_error" and not self.is_unsent)

    @classmethod
    def from_answer(cls, status: int, body: Any, retry_after: float | None = None) -> TributaryError:
        if (
            isinstance(body, dict)
            and isinstance(body.get("error"), str)
            and isinstance(body.get("message"), str)
            and body.get("status_code") == status
        ):
            return cls(body["error"], body["message"], status, retry_after)
        message = (
            f"The service cannot be reached: a proxy returned {status}. Try again in a moment."
            if 502 <= status <= 504
            else f"The server returned {status} with a response that is not from this API. Is the address correct?"
        )
        return cls("unknown", message, status, retry_after)


def network_error(message: str) -> TributaryError:
    return TributaryError("network_error", message)


def reason_of(error: BaseException) -> str:
    """The error as one sentence: its message, after its type unless it is a TributaryError or ValueError."""
    return str(error) if isinstance(error, (TributaryError, ValueError)) else f"{type(error).__name__}: {error}"
