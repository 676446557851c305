"""The web as loaders see it: none, one that must not be asked, one that breaks, and one that serves given files."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any
from urllib.error import URLError
from urllib.request import Request

import pytest

Opener = Callable[..., Any]


class Served(io.BytesIO):
    """A response of the server of an address."""

    status = 200

    def __init__(self, address: str, content: bytes) -> None:
        super().__init__(content)
        self.address = address
        self.headers = {"Content-Length": str(len(content))}

    def geturl(self) -> str:
        return self.address


class Web:
    """Serves the content of the addresses in `files`, and notes what it was asked for: method, address, time limit."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str, float]] = []

    def __call__(self, request: Request, *, timeout: float) -> Served:
        self.asked.append((request.get_method(), request.full_url, timeout))
        return Served(request.full_url, self.files[request.full_url])


@pytest.fixture
def web() -> Web:
    return Web()


@pytest.fixture(scope="session")
def offline() -> Opener:
    def opener(request: Request, *, timeout: float) -> Any:
        raise URLError(f"no network for {request.full_url} within {timeout} s")

    return opener


@pytest.fixture(scope="session")
def forbidden() -> Opener:
    def opener(request: Request, *, timeout: float) -> Any:
        raise AssertionError(f"{request.full_url} was opened (limit {timeout} s)")

    return opener


@pytest.fixture(scope="session")
def breaking() -> Opener:
    """A server that answers, and sends nothing."""

    def opener(request: Request, *, timeout: float) -> Served:
        if request.get_method() == "HEAD":
            return Served(request.full_url, b"")
        raise URLError(f"broken within {timeout} s")

    return opener
