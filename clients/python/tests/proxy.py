"""A bad network between a device and the real service: it cuts off, damages, and loses responses."""

from __future__ import annotations

import http.client
import threading
import urllib.parse
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: method, path, number of earlier requests for it -> the fault; None: no fault.
Fault = Callable[[str, str, int], "str | None"]


class Proxy:
    """Use `url` in place of the service's. Faults: "cut" off the body of the response in the middle, "damage" a byte of
    it, "lose" the response, "cut upload" (the request's body), or answer with a status of its own and `retry_after`,
    such as "503", or also with a body: "200 {}"."""

    def __init__(self, target: str, fault: Fault) -> None:
        self.asked: list[tuple[str, str, str | None]] = []
        self.retry_after = "0"
        proxy, address, counts = self, urllib.parse.urlsplit(target).netloc, dict[tuple[str, str], int]()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def forward(self) -> None:
                path = self.path.split("?")[0]
                before = counts.get((self.command, path), 0)
                counts[self.command, path] = before + 1
                proxy.asked.append((self.command, path, self.headers.get("range")))
                what = fault(self.command, path, before)
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if what == "cut upload":
                    body = body[: len(body) // 2]
                if what is not None and what[:3].isdecimal():
                    self.send_response(int(what[:3]))
                    self.send_header("retry-after", proxy.retry_after)
                    self.end_headers()
                    self.wfile.write(what[4:].encode())
                    return
                connection = http.client.HTTPConnection(address, timeout=300)
                headers = {name: text for name, text in self.headers.items() if name.lower() != "connection"}
                connection.request(self.command, self.path, body, headers)
                if what == "cut upload":
                    connection.close()
                    return
                answer = connection.getresponse()
                content = answer.read()
                if what == "lose":
                    return
                self.send_response(answer.status)
                for name, text in answer.headers.items():
                    if name.lower() not in ("connection", "keep-alive", "transfer-encoding"):
                        self.send_header(name, text)
                self.end_headers()
                if what == "damage":
                    content = bytes([content[0] ^ 1]) + content[1:]
                self.wfile.write(content[: len(content) // 2] if what == "cut" else content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = forward

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self) -> None:
        self.server.shutdown()
        self.server.server_close()
