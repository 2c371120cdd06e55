"""A server that answers for another one, and changes what it says."""
import socket
import threading


class LyingServer:
    """Hands requests on to the server at `port`, and each reply through `change(bytes) -> bytes`, which leaves the length alone."""

    def __init__(self, port, change):
        self.target, self.change = port, change
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = [self.listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        try:
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self.target))
                self.sockets += [client, server]
                threading.Thread(target=self._hand_on, args=(client, server, lambda message: message), daemon=True).start()
                threading.Thread(target=self._hand_on, args=(server, client, self.change), daemon=True).start()
        except OSError:
            pass

    @staticmethod
    def _hand_on(source, sink, change):
        try:
            with source.makefile("rb") as messages:
                while len(head := messages.read(4)) == 4:
                    sink.sendall(change(head + messages.read(int.from_bytes(head, "little") - 4)))
        except OSError:
            pass
        finally:
            for one in (source, sink):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
