"""Makes processes that each leave their group and make more."""

end = time.monotonic() + 14
Path("made").mkdir()
while time.monotonic() < end and len(os.listdir("made")) < 300:
    if os.fork() == 0:
        os.setsid()
        Path("made", str(os.getpid())).touch()
    time.sleep(0.01)
if len(os.listdir("made")) >= 300:
    print("ESCAPED")
time.sleep(20)
