"""Changes modes through the directories and descriptors of other processes, in /proc."""

for pid in (at.victim, os.getppid()):
    for name in ("cwd", f"cwd{at.home}", f"cwd/{at.home}", f"root{at.home}"):
        attempt(lambda: os.chmod(f"/proc/{pid}/{name}/.bashrc", 0o777))
for number in range(8):
    attempt(lambda: os.chmod(f"/proc/{at.victim}/fd/{number}", 0o777))
