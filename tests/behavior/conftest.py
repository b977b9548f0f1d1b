"""A real sandbox for the tests that run a project."""

import os
from collections.abc import Iterator

import pytest

from coder.sandbox.process import ProcessSandbox


@pytest.fixture
def sandbox() -> Iterator[ProcessSandbox]:
    with ProcessSandbox(os.environ) as sandbox:
        yield sandbox
