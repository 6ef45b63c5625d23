"""A small stand-in for S3, for one bucket: enough of its protocol for s3fs, without any check of signatures.

An object is there when the whole body has arrived, as in S3. `break_upload()` breaks the connections of uploads.
Unless `conditional`, it refuses requests to create an object only if there is none, as some stores do.
"""

import contextlib
import datetime
import hashlib
import http.server
import re
import threading
import urllib.parse
import xml.sax.saxutils

BUCKET = "bucket"


class ObjectStore:
    """The objects by key, and the server that shows them at `endpoint`."""

    def __init__(self):
        self.objects = {}
        self.changed = {}
        self.requests = []
        self.conditional = True
        self._broken = None
        store = self

        class Handler(_Handler):
            objects, changed, requests = store.objects, store.changed, store.requests

            def is_broken(self, key):
                return store._broken is not None and key.startswith(store._broken)

            def has_conditions(self):
                return store.conditional

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def environment(self):
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",
        }

    @contextlib.contextmanager
    def break_upload(self, prefix):
        """Uploads of objects with this prefix end in the middle."""
        self._broken = prefix
        yield
        self._broken = None

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _where(self):
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        self.requests.append((self.command, key))
        return bucket, key, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))

    def _answer(self, status, body=b"", **headers):
        self.send_response(status)
        headers.setdefault("Content_Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _error(self, status, code):
        self._answer(
            status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        )

    def do_HEAD(self):
        bucket, key, _ = self._where()
        if bucket != BUCKET or (key and key not in self.objects):
            self._error(404, "NoSuchKey")
        else:
            self._answer(200, **(self._about(key) if key else {}))

    def do_GET(self):
        bucket, key, query = self._where()
        if bucket != BUCKET:
            self._error(404, "NoSuchBucket")
        elif not key:
            self._answer(200, self._listing(query), Content_Type="application/xml")
        elif key not in self.objects:
            self._error(404, "NoSuchKey")
        else:
            body, about = self.objects[key], self._about(key)
            part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if part:
                end = int(part[2]) + 1 if part[2] else len(body)
                about["Content_Range"] = f"bytes {part[1]}-{end - 1}/{len(body)}"
                body = body[int(part[1]) : end]
            about["Content_Length"] = str(len(body))
            self._answer(206 if part else 200, body, **about)

    def do_PUT(self):
        bucket, key, _ = self._where()
        length = int(self.headers.get("Content-Length", 0))
        if self.is_broken(key):
            self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if bucket != BUCKET:
            self._error(404, "NoSuchBucket")
            return
        if "aws-chunked" in self.headers.get("Content-Encoding", ""):
            body = _without_chunks(body)
        if "If-None-Match" in self.headers:
            if not self.has_conditions():
                self._error(501, "NotImplemented")
                return
            if key in self.objects:
                self._error(412, "PreconditionFailed")
                return
        self.objects[key], self.changed[key] = body, datetime.datetime.now(datetime.timezone.utc)
        self._answer(200, ETag=_etag(body))

    def do_DELETE(self):
        _, key, _ = self._where()
        self.objects.pop(key, None)
        self._answer(204)

    def _about(self, key):
        return {
            "Content_Length": str(len(self.objects[key])),
            "ETag": _etag(self.objects[key]),
            "Last_Modified": self.changed[key].strftime("%a, %d %b %Y %H:%M:%S GMT"),
        }

    def _listing(self, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        rows, folders = [], set()
        for key in sorted(self.objects):
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            rows.append(
                f"<Contents><Key>{xml.sax.saxutils.escape(key)}</Key>"
                f"<LastModified>{self.changed[key].isoformat()[:23]}Z</LastModified>"
                f"<ETag>{_etag(self.objects[key])}</ETag><Size>{len(self.objects[key])}</Size></Contents>"
            )
        rows += [f"<CommonPrefixes><Prefix>{one}</Prefix></CommonPrefixes>" for one in folders]
        count = f"<KeyCount>{len(rows)}</KeyCount><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult>{count}{''.join(rows)}</ListBucketResult>".encode()

    def log_message(self, *words):
        pass


def _etag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


def _without_chunks(body):
    """Newer clients send a checksum after the body, in chunks."""
    whole = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length == 0:
            return whole
        whole, body = whole + body[:length], body[length + 2 :]
