"""The file system and environment that a sandboxed command sees."""
