"""Is killed while its system calls wait for an answer, a hundred times over."""

outside = os.path.join(at.home, ".bashrc")
for turn in range(100):
    child = os.fork()
    if child == 0:
        while True:
            try:
                os.chmod(outside, 0o777)
            except OSError:
                continue
    time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
