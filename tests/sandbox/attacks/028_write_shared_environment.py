"""Changes a module of an environment that shares its files with an installer's cache.

Landlock: it cannot refuse a part of a directory that may be written.
"""

Path(".venv/mod.py").write_text("owned")
