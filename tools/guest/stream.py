"""Sends or receives bytes over TCP, and prints their SHA-256.

python3 stream.py send|receive IP PORT [BYTES]
"""

import hashlib
import random
import socket
import sys

PATIENCE_S = 60
CHUNK_BYTES = 1 << 16


def main() -> None:
    direction, ip, port, *count = sys.argv[1:]
    digest = hashlib.sha256()
    with socket.create_connection((ip, int(port)), PATIENCE_S) as connection:
        if direction == "send":
            data = random.Random(1).randbytes(int(count[0]))
            digest.update(data)
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            # The other end closes when it has all.
            while connection.recv(CHUNK_BYTES):
                pass
        else:
            while data := connection.recv(CHUNK_BYTES):
                digest.update(data)
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
