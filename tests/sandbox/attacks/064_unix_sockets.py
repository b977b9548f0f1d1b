"""Talks to an abstract socket, to those of a service, of ssh's agent and of a daemon, and through a link."""

os.symlink(at.socket, "way")
for address in (f"\0{at.abstract}", at.socket, at.agent, at.daemon or at.socket, "way"):
    attempt(lambda: print(greeting(socket.socket(socket.AF_UNIX), address)))
