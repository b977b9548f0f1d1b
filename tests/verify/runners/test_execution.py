"""The tail of a command's output that people see."""

from coder.verify.runners.registry import output_tail


def test_messages_in_json_are_shown_as_text() -> None:
    output = (
        "   Compiling little v0.1.0\n"
        '{"reason":"compiler-message","message":{"rendered":"error: no such name\\n --> src/lib.rs:1\\n"}}\n'
        '{"reason":"build-finished","success":false}\n'
        '{"broken\n'
    )
    assert output_tail(output).splitlines() == [
        "   Compiling little v0.1.0",
        "error: no such name",
        " --> src/lib.rs:1",
        '{"broken',
    ]


def test_silence_is_named() -> None:
    assert output_tail("\n\n") == "it printed nothing"
