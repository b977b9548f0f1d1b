"""Goes on after its time is up, in children that keep forking away."""

signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
            time.sleep(0.4)
time.sleep(60)
