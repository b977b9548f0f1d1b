"""The typed note that each phase ends with."""

from typing import Annotated, Literal

from pydantic import Field

from coder.core.value import Value


class Sites(Value):
    """Locate's note: where the change belongs."""

    kind: Literal["sites"] = "sites"
    summary: str
    places: tuple[str, ...] = ()
    """`path`, `path:line` or `path::Qualified.name`, most likely first."""
    tests: tuple[str, ...] = ()
    """Ids of tests that fail already because of the issue."""


class Reproduction(Value):
    """Reproduce's note: the tests that fail because of the issue and for no other reason."""

    kind: Literal["reproduction"] = "reproduction"
    summary: str
    tests: tuple[str, ...]


class Done(Value):
    """Edit's and repair's note: the change is made."""

    kind: Literal["done"] = "done"
    summary: str
    """What is true now, fit for a commit subject."""


class Diagnosis(Value):
    """Diagnose's note: why the last attempt failed and what to change."""

    kind: Literal["diagnosis"] = "diagnosis"
    summary: str
    places: tuple[str, ...] = ()


class GiveUp(Value):
    """The end without a fix: what is known, for whoever goes on."""

    kind: Literal["give_up"] = "give_up"
    summary: str
    places: tuple[str, ...] = ()
    """Suspected places, most suspicious first."""


Note = Annotated[Sites | Reproduction | Done | Diagnosis | GiveUp, Field(discriminator="kind")]
