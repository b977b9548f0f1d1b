"""Discovery of how a repository is tested: interpreter, command, configuration, source roots."""
