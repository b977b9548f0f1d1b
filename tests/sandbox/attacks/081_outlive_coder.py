"""Goes on after coder itself was killed.

Ends: killed
"""

for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
time.sleep(60)
