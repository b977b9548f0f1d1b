import asyncio
import json
from pathlib import Path

from coder.core.candidate import Candidate
from coder.core.events import ToolFinished
from coder.core.messages import ToolCall
from coder.core.notes import GiveUp, Note
from coder.core.phases import EDIT, EXPLAIN, LOCATE, Phase
from coder.core.words import Answer
from coder.loop.kit import Kit
from coder.loop.toolbox import OUTPUT_CHARACTERS, answer, cut
from tests.loop.fakes import FakeStore, kit


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall(id="1", name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments))


def answered(made: Kit, wish: ToolCall, phase: Phase = LOCATE) -> tuple[ToolFinished, Note | None]:
    candidate = Candidate(id="c1", worktree=made.repository.root, base="base")
    note = asyncio.run(answer(made, candidate, phase, wish))
    finished = made.log.records[-1].event
    assert isinstance(finished, ToolFinished)
    return finished, note


def test_an_unknown_tool_is_told_which_there_are(tmp_path: Path) -> None:
    finished, _ = answered(kit(tmp_path), call("open_file", {}))
    assert not finished.message.ok
    assert "no tool 'open_file'" in finished.message.text
    assert "apply_patch" in finished.message.text


def test_malformed_arguments_are_an_answer_and_not_an_end(tmp_path: Path) -> None:
    finished, _ = answered(kit(tmp_path), call("search", '{"pattern": "VAL'))
    assert not finished.message.ok
    assert "not valid JSON" in finished.message.text
    assert "search(pattern: string" in finished.message.text


def test_unknown_arguments_are_refused(tmp_path: Path) -> None:
    finished, _ = answered(kit(tmp_path), call("search", {"pattern": "VALUE", "colour": "red"}))
    assert "colour" in finished.message.text


def test_a_note_of_another_phase_changes_nothing(tmp_path: Path) -> None:
    finished, note = answered(kit(tmp_path), call("hand_over", {"kind": "done", "summary": "all good"}))
    assert note is None
    assert "locate phase" in finished.message.text


def test_giving_up_is_possible_in_every_phase(tmp_path: Path) -> None:
    _, note = answered(kit(tmp_path), call("hand_over", {"kind": "give_up", "summary": "no bug"}), EDIT)
    assert note == GiveUp(summary="no bug")


def test_a_change_is_refused_where_nothing_may_change(tmp_path: Path) -> None:
    made = kit(tmp_path)
    finished, _ = answered(made, call("apply_patch", {"diff": "x"}), EXPLAIN)
    assert "Nothing is changed in the explain phase" in finished.message.text


def test_a_command_is_refused_where_nobody_can_be_asked(tmp_path: Path) -> None:
    finished, _ = answered(kit(tmp_path), call("run_command", {"command": "ls"}))
    assert "not allowed" in finished.message.text


def test_a_command_runs_once_it_is_allowed(tmp_path: Path) -> None:
    made = kit(tmp_path, attended=True)
    candidate = Candidate(id="c1", worktree=tmp_path, base="base")

    async def scenario() -> None:
        asking = asyncio.ensure_future(answer(made, candidate, EDIT, call("run_command", {"command": "ls -l"})))
        await asyncio.sleep(0)
        made.approval.answer(Answer(question="q1", option="allow"))
        await asking

    asyncio.run(scenario())
    finished = made.log.records[-1].event
    assert isinstance(finished, ToolFinished)
    assert finished.message.ok
    assert "ls -l" in finished.message.text


def test_long_output_is_cut_in_the_middle_and_kept_whole(tmp_path: Path) -> None:
    made = kit(tmp_path)
    text = "a" * OUTPUT_CHARACTERS + "z" * 100
    shown = cut(text)
    assert len(shown) < OUTPUT_CHARACTERS + 100
    assert shown.startswith("aaa")
    assert shown.endswith("zzz")
    assert isinstance(made.store, FakeStore)
    assert made.store.blob(made.store.keep(text)) == text
