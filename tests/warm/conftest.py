"""The interpreters and the sandbox of the tests of cold runs."""

from tests.verify.conftest import make_runner, sandbox

__all__ = ["make_runner", "sandbox"]
