"""Backends of the Sandbox port, through which every command is executed.

`coder/sandbox/choice.py` takes the strongest backend that a probe with the real profile has seen to hold:
bubblewrap (the system's or bundled), Landlock with seccomp ("reduced"), on macOS Seatbelt (a generated
profile), or none; with none, nothing is run unless the user says `--unsafe-no-sandbox`.
`permissions/command_rules.py` and `session/approval.py` decide what needs approval;
only the user's words change that, never text from a tool. `permissions/secrets.py` masks secrets.

Without network namespaces `sandbox/broker.py` connects, binds and listens for the command, on a copy of its
socket (`pidfd_getfd`): TCP is bound to loopback before anything else, and connected only to a socket that
has listened for the same command (it asks the kernel which one it would choose). Build tools
read the user's package caches, offline (`sandbox/view.py`), and write to build directories. One
belongs to the run directory of the same name, so commands of the model never write it; and it holds what
was built from the same content of a tree: others are set aside meanwhile, so that tests of a change cannot
forge artefacts for the base, and see the same paths on both sides. What the base alone has built is copied
for other trees. Cargo compares times of files; artefacts are made older than the worktree first, so no
stale one is judged.

A container image that the user's own settings name (`image`, never a repository's) runs everything in
podman or Docker instead; if it does not answer, nothing is run. Private files
(`permissions/secrets.py`) are empty to commands; where the checkout's index has one, commands see no
repository at all, since its objects would reveal it. Private files of older commits can still be read
there.
"""
