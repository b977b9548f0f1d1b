"""The sandbox of the tests that run a project."""

from tests.verify.conftest import sandbox

__all__ = ["sandbox"]
