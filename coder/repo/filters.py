"""Which filter drivers a tree that a model wrote in may start: those that the person's own files use already."""

from coder.repo.git import Git


def unused_filters(git: Git) -> tuple[str, ...]:
    """Drivers that the configuration defines and no tracked file uses; a changed .gitattributes could name one of them."""
    found = git.call("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$", accept=(0, 1))
    drivers = {key.split(".", 1)[1].rpartition(".")[0] for key in found.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]}
    if not drivers:
        return ()
    tracked = git.call("ls-files", "-z").stdout
    answers = git.call("check-attr", "-z", "--stdin", "filter", stdin=tracked).stdout.decode("utf-8", "surrogateescape").split("\0")
    return tuple(sorted(drivers - set(answers[2::3])))
