"""Changes a mode below a link to a directory."""

os.symlink(at.home, "way-to-directory")
os.chmod("way-to-directory/.bashrc", 0o777)
