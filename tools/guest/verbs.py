"""The verbs of a guest, as calls: `peer.py` runs there and answers."""

import json
from dataclasses import dataclass
from pathlib import Path

from guest import Guest, GuestError

PEER = Path(__file__).resolve().parent / "peer.py"
START_LIMIT_S = 60
CALL_LIMIT_S = 30

START = """
python3.11 /tmp/peer.py >/tmp/peer.log 2>&1 &
for _ in $(seq 500); do
    grep -q 'TCP port' /tmp/peer.log && exit
    [ -e /proc/$! ] || break
    sleep 0.1
done
cat /tmp/peer.log
exit 1
"""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What the other end, or ours, has done."""

    id: int
    status: int
    opcode: int
    bytes: int
    imm: int | None


class Verbs:
    """The queue pair of a guest. Each call is a command of peer.py."""

    def __init__(self, guest: Guest) -> None:
        """Starts the peer; the guest is connected."""
        self._guest = guest
        guest.put("/tmp/peer.py", PEER.read_bytes())
        guest.run(START, START_LIMIT_S)

    def call(self, do: str, **words: object) -> dict:
        request = json.dumps({"do": do, **words})
        script = f"echo '{request}' | nc -w {CALL_LIMIT_S} 127.0.0.1 7000"
        answer = json.loads(self._guest.run(script, CALL_LIMIT_S))
        if "error" in answer:
            raise GuestError(f"guest {self._guest.name}: {request}: {answer['error']}")
        return answer

    def poll(self, count: int = 1, limit_s: float = 5) -> list[Completion]:
        """Raises GuestError where fewer come in time."""
        rows = self.call("poll", count=count, limit_s=limit_s)["completions"]
        if len(rows) < count:
            raise GuestError(f"guest {self._guest.name}: {len(rows)} of {count} completions")
        return [Completion(**row) for row in rows]


def connect(
    one: Verbs, other: Verbs, *, mtu: int, psns: tuple[int, int] = (0, 0), **how: object
) -> tuple[dict, dict]:
    """Opens a queue pair at both ends and connects them; returns what each end is called by."""
    ends = [one.call("open", mtu=mtu, psn=psns[0]), other.call("open", mtu=mtu, psn=psns[1])]
    for verbs, far in ((one, ends[1]), (other, ends[0])):
        words = {name: far[name] for name in ("address", "qpn", "psn")}
        verbs.call("connect", **{**words, **how})
    return ends[0], ends[1]
