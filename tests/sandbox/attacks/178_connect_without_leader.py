"""Talks to a server from a thread whose process has ended its first one."""


def talk():
    with socket.create_connection(("127.0.0.1", at.tcp), timeout=3) as way:
        print(way.recv(100).decode(), flush=True)


threading.Thread(target=talk).start()
call(60, 93, 0)
