"""Reading and searching files of an untrusted tree."""
