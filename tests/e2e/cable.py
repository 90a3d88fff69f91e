"""A line to PostgreSQL's socket that tests cut and mend, as a network or a restarted server does."""

import socket
import threading
from pathlib import Path


class Cable:
    """A line to the server's socket that can be cut and mended."""

    def __init__(self, server_folder, folder):
        folder.mkdir(parents=True)
        self.folder, self._server = folder, str(Path(server_folder) / ".s.PGSQL.5432")
        self._open, self.is_cut = [], False
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            near, _ = self._listener.accept()
            if self.is_cut:
                near.close()
                continue
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._server)
            self._open += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source, target):
        try:
            while sent := source.recv(65536):
                target.sendall(sent)
        except OSError:
            pass
        finally:
            for end in (source, target):
                end.close()

    def cut(self):
        self.is_cut = True
        for end in self._open:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._open.clear()

    def mend(self):
        self.is_cut = False
