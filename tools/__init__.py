"""The tools that a model sees: typed functions over a Workspace, one file each."""
