"""Mounts the checkout anew, writable."""

MS_REMOUNT, MS_BIND = 32, 4096
for place in ("/", at.project):
    libc.mount(b"none", os.fsencode(place), None, MS_REMOUNT | MS_BIND, None)
Path(at.project, "main.py").write_text("owned")
