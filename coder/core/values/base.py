"""Frozen base classes of values that cross package boundaries."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """An immutable record, compared by its fields, that turns into JSON and back."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EventValue(Value):
    """An event, or a part of one; unknown fields of other versions are ignored."""

    model_config = ConfigDict(extra="ignore")
