"""Talks to a server from threads of children."""


def talk():
    with socket.create_connection(("127.0.0.1", at.tcp), timeout=3) as way:
        print(way.recv(100).decode(), flush=True)


for number in range(3):
    if os.fork() == 0:
        threads = [threading.Thread(target=talk) for thread in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
for number in range(3):
    os.wait()
