"""Reads keys, passwords and the remote's address, by their names, a link, and another program's files."""

os.symlink(Path(at.home, ".ssh"), "innocent")
for place in (
    f"{at.home}/.ssh/id_rsa",
    f"{at.home}/.netrc",
    "innocent/id_rsa",
    f"/proc/{at.victim}/root{at.home}/.ssh/id_rsa",
    f"/proc/{at.victim}/fd/3",
    f"{at.project}/.git/config",
):
    attempt(lambda: print(Path(place).read_text()))
