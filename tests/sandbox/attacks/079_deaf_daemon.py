"""Leaves a daemon behind that hears no signal and holds no file."""

if os.fork() == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, 256)
    time.sleep(60)
