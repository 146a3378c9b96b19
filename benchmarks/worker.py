"""The process behind a `RemoteDesk`: ``python worker.py ADDRESS`` runs what it is told to."""

from __future__ import annotations

import sys
from multiprocessing.connection import Client

from desk import Absent, Desk


def serve(address: str) -> None:
    """Run what is asked for over a socket until it closes."""
    desk = Desk()
    with Client(address, "AF_UNIX") as connection:
        while True:
            try:
                what, *arguments = connection.recv()
            except EOFError:
                return
            try:
                answer = ("done", getattr(desk, what)(*arguments))
            except Absent as cause:
                answer = ("absent", str(cause))
            except Exception as cause:
                answer = ("trouble", f"{arguments}: {type(cause).__name__}: {cause}")
            connection.send(answer)


if __name__ == "__main__":
    serve(sys.argv[1])
