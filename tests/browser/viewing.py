"""A running `stepscope view`, for the tests of it."""

import contextlib
import http.client
import http.server
import os
import resource
import signal
import subprocess
import urllib.parse

import pytest


class View:
    """A running `stepscope view`."""

    def __init__(self, stepscope, *arguments, environment=None, descriptors=None):
        self.process = subprocess.Popen(
            [stepscope, "view", *map(str, arguments)],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            preexec_fn=descriptors
            and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors,) * 2)),
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            pytest.fail(self.process.communicate()[1])
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port, self.path = parts.netloc, parts.port, parts.path

    def get(self, path, method="GET", **headers):
        """Status, headers, body; `path` as it stands behind the address, or from a slash on."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        named = {
            "Host": self.host,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection.putrequest(
            method, path if path.startswith("/") else self.path + path, skip_host=True
        )
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, response.headers, body

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(timeout=60)


@contextlib.contextmanager
def viewing(stepscope, *arguments, **more):
    view = View(stepscope, *arguments, **more)
    try:
        yield view
    finally:
        if view.process.poll() is None:
            view.process.kill()
        view.process.communicate()
