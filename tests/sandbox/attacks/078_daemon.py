"""Leaves a daemon behind."""

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (0, 1, 2):
            os.dup2(os.open("/dev/null", os.O_RDWR), number)
        time.sleep(60)
    os._exit(0)
os.wait()
