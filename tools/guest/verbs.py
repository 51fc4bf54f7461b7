"""The verbs of a guest, as calls: `peer.py` answers there."""

import json
from dataclasses import dataclass

from guest import Guest, GuestError

CALL_LIMIT_S = 30


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
        """The guest is connected; its peer runs since it has booted."""
        self._guest = guest

    def call(self, do: str, **words: object) -> dict:
        return self.calls({"do": do, **words})[0]

    def calls(self, *requests: dict) -> list[dict]:
        """Several commands at once, one after the other."""
        lines = [json.dumps(request) for request in requests]
        words = "\n".join(lines)
        script = f"nc -w {CALL_LIMIT_S} 127.0.0.1 7000 <<'END'\n{words}\nEND\n"
        answers = [json.loads(it) for it in self._guest.run(script, CALL_LIMIT_S).splitlines()]
        if len(answers) < len(lines):
            raise GuestError(f"guest {self._guest.name}: {lines[len(answers)]}: no answer")
        for line, answer in zip(lines, answers, strict=True):
            if "error" in answer:
                raise GuestError(f"guest {self._guest.name}: {line}: {answer['error']}")
        return answers

    def poll(self, count: int = 1, limit_s: float = 5) -> list[Completion]:
        """Raises GuestError where fewer come in time."""
        rows = self.call("poll", count=count, limit_s=limit_s)["completions"]
        if len(rows) < count:
            raise GuestError(f"guest {self._guest.name}: {len(rows)} of {count} completions")
        return [Completion(**row) for row in rows]


def connect(
    one: Verbs,
    other: Verbs,
    *,
    mtu: int,
    psns: tuple[int, int] = (0, 0),
    bytes_: int = 1 << 16,
    **how: object,
) -> tuple[dict, dict]:
    """Opens a queue pair at both ends and connects them; returns what each end is called by."""
    opened = {"mtu": mtu, "bytes": bytes_}
    ends = [one.call("open", psn=psns[0], **opened), other.call("open", psn=psns[1], **opened)]
    for verbs, far in ((one, ends[1]), (other, ends[0])):
        words = {name: far[name] for name in ("address", "qpn", "psn")}
        verbs.call("connect", **{**words, **how})
    return ends[0], ends[1]
