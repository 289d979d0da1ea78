"""A local HTTP server that imitates the Hugging Face Hub and records requests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

__all__ = ["FakeHub", "serve_hub"]


@dataclass
class FakeHub:
    """Files by (repository, commit), and branches by (repository, name)."""

    files: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    branches: dict[tuple[str, str], str] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and Authorization header of every request."""
    url: str = ""

    def publish(self, repository: str, files: dict[str, bytes], *, branch: str = "main") -> str:
        """Commit the files to a branch, and return the commit."""
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.files[repository, commit] = files
        self.branches[repository, branch] = commit
        return commit

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a path."""
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        listing = parts[:2] == ["api", "models"]
        parts = parts[2:] if listing else parts
        repository, (verb, revision, *rest) = "/".join(parts[:2]), parts[2:]
        if not any(known == repository for known, _ in self.files):
            return 404, {"X-Error-Code": "RepoNotFound"}, b""
        if repository in self.gated and authorization != "Bearer hf_granted":
            return 403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."}, b""
        commit = self.branches.get((repository, revision), revision)
        files = self.files.get((repository, commit))
        if files is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        file = "/".join(rest)
        headers = {"X-Repo-Commit": commit}
        if listing and verb == "tree":
            names = [name for name in files if name.startswith(file + "/")]
            rows = [{"type": "file", "path": name, "size": len(files[name]), "oid": "0" * 40} for name in names]
            if rows:
                return 200, {**headers, "Content-Type": "application/json"}, json.dumps(rows).encode()
        elif file in files:
            etag = hashlib.sha1(files[file]).hexdigest()
            return 200, {**headers, "ETag": f'"{etag}"'}, files[file]
        return 404, {**headers, "X-Error-Code": "EntryNotFound"}, b""


@contextlib.contextmanager
def serve_hub(hub: FakeHub) -> Iterator[FakeHub]:
    """Serve the hub on a free local port while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            authorization = self.headers.get("Authorization")
            hub.requests.append((self.command, self.path, authorization))
            status, headers, body = hub.answer(self.path, authorization)
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
