"""Output of `--json`: one object per line, in a smaller and more stable format than the log.

Every object has `event` and `at` (UTC, ISO 8601). The events and their fields:

started   session, repository, model, head, base, dirty, version
phase     phase, attempt
baseline  command, passed, failed, skipped, denied, failing, seconds, problem  (denied: not in the sandbox)
message   text                                  (what the model said)
tool      name, arguments, ok, seconds, output  (output as the model saw it)
changed   paths, diff                           (the whole change so far)
targets   targets, seconds                      (tests that turned green)
tests     label, passed, failed, skipped, seconds, stored
verified  attempt, verdict, reason, notes, open, targets, broken, still_red
research  candidate, note                       (its kind: research_plan, research, evaluation or report)
question  text, options, answer, by
spent     requests, input_tokens, cached_tokens, output_tokens, cost_usd
warning   text
finished  verdict, exit_code, summary, report, diff, branch, commit, merged, attempts, requests, input_tokens,
          cached_tokens, output_tokens, cost_usd, seconds

`verdict` is null if there is none (interrupted, wrong use); `cost_usd` is a string, or null if a price is
unknown.
"""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, TextIO

from coder.core import events
from coder.core.notes import Evaluation, ResearchPlan, ResearchReport, ResearchResult
from coder.core.values import AssistantMessage, Delivery, ToolCall
from coder.core.verdict_summary import describe_open


class RecordTranslator:
    """Translates records to public objects, and remembers what later records refer to."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], ToolCall] = {}
        """By candidate and id: servers may count the calls of each conversation anew."""
        self._questions: dict[str, events.QuestionAsked] = {}

    def translate(self, record: events.Record) -> dict[str, Any] | None:
        """Return the public object of a record; None if the record is not public."""
        body = self._body(record.event)
        return None if body is None else {"event": body.pop("event"), "at": record.at.isoformat(), **body}

    def _body(self, event: events.Event) -> dict[str, Any] | None:
        match event:
            case events.ToolStarted(candidate=candidate, call=call):
                self._calls[candidate, call.id] = call
            case events.ToolFinished(candidate=candidate, message=message, seconds=seconds):
                call = self._calls.pop((candidate, message.call_id))
                outcome = {"ok": message.ok, "seconds": round(seconds, 3), "output": message.text}
                return {"event": "tool", "name": message.name, "arguments": call.arguments, **outcome}
            case events.QuestionAsked(question=question):
                self._questions[question] = event
            case events.QuestionAnswered(question=question, option=option, by=by):
                pending = self._questions.pop(question)
                return {
                    "event": "question",
                    "text": pending.text,
                    "options": pending.options,
                    "answer": option,
                    "by": by,
                }
            case events.NoteMade(
                candidate=candidate,
                note=ResearchPlan() | ResearchResult() | Evaluation() | ResearchReport() as note,
            ):
                return {"event": "research", "candidate": candidate, "note": note.model_dump(mode="json")}
            case _:
                return _translate_event(event)
        return None


def _translate_event(event: events.Event) -> dict[str, Any] | None:
    match event:
        case events.SessionStarted():
            fields = event.model_dump(
                mode="json", include={"session", "repository", "model", "head", "base", "dirty", "version"}
            )
            return {"event": "started", **fields}
        case events.PhaseEntered(phase=phase, attempt=attempt):
            return {"event": "phase", "phase": phase, "attempt": attempt}
        case events.BaselineMeasured():
            fields = event.model_dump(include={"command", "failing", "seconds", "problem"})
            return {"event": "baseline", **fields, **event.counts.model_dump(exclude={"partial"})}
        case events.MessageFinished(message=AssistantMessage(text=text)) if text.strip():
            return {"event": "message", "text": text}
        case events.FilesChanged(paths=paths, diff=diff):
            return {"event": "changed", "paths": paths, "diff": diff}
        case events.TargetsGreen() | events.TestsEnded() | events.Verified():
            return _judged_object(event)
        case events.BudgetSpent(total=total):
            return {"event": "spent", **total.model_dump(mode="json")}
        case events.Warned(text=text):
            return {"event": "warning", "text": text}
        case events.SessionFinished():
            return _finished_object(event)
    return None


def _judged_object(event: events.TargetsGreen | events.TestsEnded | events.Verified) -> dict[str, Any]:
    match event:
        case events.TargetsGreen(targets=targets, seconds=seconds):
            return {"event": "targets", "targets": targets, "seconds": seconds}
        case events.TestsEnded(run=run):
            counts = run.counts.model_dump(include={"passed", "failed", "skipped"})
            shown = {"label": run.label, **counts, "seconds": run.seconds, "stored": run.stored}
            return {"event": "tests", **shown}
        case events.Verified(attempt=attempt, verdict=verdict):
            tests = {
                name: [result.id for result in getattr(verdict, name)] for name in ("broken", "still_red")
            }
            verdict_fields = {
                "verdict": verdict.kind.value,
                "reason": verdict.reason,
                "targets": verdict.targets,
                "notes": verdict.notes,
                "open": describe_open(verdict),
            }
            return {"event": "verified", "attempt": attempt, **verdict_fields, **tests}


def _finished_object(event: events.SessionFinished) -> dict[str, Any]:
    delivery = event.delivery or Delivery(diff="")
    return {
        "event": "finished",
        "verdict": event.kind.value if event.kind else None,
        "exit_code": event.exit_code,
        "summary": event.summary,
        "report": event.report,
        **delivery.model_dump(include={"diff", "branch", "commit", "merged"}),
        "attempts": event.attempts,
        **event.spent.model_dump(mode="json"),
        "seconds": round(event.seconds, 3),
    }


def write_failure(message: str, exit_code: int, *, at: datetime) -> None:
    """Write the final line of a command that failed before its session began."""
    event = events.SessionFinished(kind=None, exit_code=exit_code, summary=message)
    print(json.dumps({"at": at.isoformat(), **_finished_object(event)}), flush=True)


async def write_records(records: AsyncIterator[events.Record], out: TextIO | None = None) -> None:
    """Write each public record as one line, to standard output by default, and flush it."""
    translator = RecordTranslator()
    async for record in records:
        if (public := translator.translate(record)) is not None:
            print(json.dumps(public), file=out, flush=True)
