"""Changes a mode through another program's directories in /proc."""

for name in ("cwd", "root" + at.home):
    try:
        os.chmod(f"/proc/{at.victim}/{name}/.bashrc", 0o777)
    except OSError:
        continue
for number in range(8):
    try:
        os.chmod(f"/proc/{at.victim}/fd/{number}", 0o777)
    except OSError:
        continue
