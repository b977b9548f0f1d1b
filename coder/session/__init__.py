"""Agent loop of a session: event log, phases, turns, tool calls, approvals and limits.

A request that continues a session is a session of its own (`session/continuation.py`): its log opens with
the earlier conversation, byte for byte, in one event; it starts from the delivered commit with the user's
uncommitted work on top (`repo/repository.py`), and its delivery extends that branch. One that was
interrupted hands on its unfinished change; if the same request is sent again it goes on where the log ends
(`tests/session/test_resume_grid.py` kills sessions after each event). `wiring/conversations.py` follows the
chain, which `apply` and `undo` respect. To rewind or fork is to store an earlier point of the chain as a
session that was stopped before its first message. Files and symbols that a request mentions with `@` are
attached to it (`retrieval/attachments.py`) and no part of the issue; what the user says on the way waits
until the next request takes it (`session/context.py`), with what it mentions, as the worktree has it.
Images are part of the message that shows them (`core/messages.py`, base64), so that a resumed conversation
is the same; a model that accepts none (`models/catalog.py`) never gets them. The interface reaches all but
sessions by the Protocols of `ui/tui/services.py`, which `cli/tui.py` implements. It is painted
before the repository is opened (`cli/tui.py`): what is sent earlier waits. `ui/tui/keys.py` names the key
bindings that the user's settings can change; bindings of screens carry these names as ids, and the prompt
asks for the name of each key before its editor sees it. `ui/dialogue.py` is the same conversation in plain
lines, for screen readers, over the same services. The mode of a task decides on the route: `CHANGE_ROUTE`
seeks no failing test, `answer_question` is one phase that reads.
"""
