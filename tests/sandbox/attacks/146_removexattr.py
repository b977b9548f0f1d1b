"""Removes an extended attribute from a file of the checkout.

Here not: not every file system keeps extended attributes.
"""

os.removexattr(os.path.join(at.project, "main.py"), "user.kept")
