"""Calls derived from recorded ones."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from coder.verify.target.trials.coder_varied import changed_values, vary_calls

CALLS = [("a", ("f",), {"text": "ab", "mark": ""}), ("a", ("f",), {"text": "c", "mark": "-"})]


def test_recorded_calls_come_first_then_single_argument_changes() -> None:
    calls = vary_calls(CALLS, 30)
    assert calls[:2] == CALLS
    assert len(calls) == 30
    assert all(
        any(sum(arguments[key] != old[key] for key in arguments) == 1 for _, _, old in CALLS)
        for _, _, arguments in calls[2:]
    )


def test_reuses_arguments_of_other_calls() -> None:
    assert {"text": "c", "mark": ""} in [arguments for _, _, arguments in vary_calls(CALLS, 100)]
    assert {"text": "ab", "mark": "-"} in [arguments for _, _, arguments in vary_calls(CALLS, 100)]


MORE = [date(2024, 2, 29), datetime(2024, 1, 1, 12, tzinfo=UTC), timedelta(1), Decimal(2), 2j]


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 0.5, "text", "", b"ab", [1, 2], (1, "a"), {"a": 1}, {1, 2}, frozenset("ab"), *MORE],
)
def test_every_plain_value_has_neighbours_of_its_kind(value: object) -> None:
    near = changed_values(value, [])
    assert len(near) >= 1
    assert value is None or all(type(neighbour) is type(value) for neighbour in near)
    assert value not in near


def test_leaves_non_plain_values_alone() -> None:
    assert changed_values(object(), [1, 2]) == []


class Command:
    def __init__(self, output: str, owner: object) -> None:
        self.output, self.owner = output, owner


def test_varies_attributes_of_record_without_changing_it() -> None:
    command = Command("no such file", 3)
    commands = [
        arguments["command"] for _, _, arguments in vary_calls([("a", ("match",), {"command": command})], 50)
    ]
    assert commands[0] is command
    assert len({variant.output for variant in commands}) > 3
    assert len({variant.owner for variant in commands}) > 3
    assert (command.output, command.owner) == ("no such file", 3)


@pytest.mark.parametrize("arguments", [{"self": Command("", 3)}, {"command": Command("", object())}])
def test_does_not_vary_receivers_or_complex_objects(arguments: dict[str, object]) -> None:
    assert len(vary_calls([("a", ("f",), arguments)], 50)) == 1


def test_value_at_limit_has_no_neighbours() -> None:
    assert changed_values(date.max, []) == []
