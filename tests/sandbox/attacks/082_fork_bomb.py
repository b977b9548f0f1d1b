"""Makes more and more processes."""

made = 0
while made < 300:
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
    made += 1
time.sleep(1)
print("ESCAPED")
