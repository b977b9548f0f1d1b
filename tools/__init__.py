"""Tools that a model can call: typed functions over a Workspace, one file each."""
