"""A peer that speaks RoCE by the verbs of its kernel; runs in a guest and listens on TCP port 7000.

Each line that comes in is a JSON object with the name of a command, `do`, and its arguments; each
line that goes out is its answer, or `{"error": ".."}`. One queue pair and one region at a time, but
for those that an `open` with "keep": true leaves as they are:

    {"do": "open", "mtu": 1024, "psn": 7, "bytes": 65536}
    {"do": "connect", "address": "10.97.0.2", "qpn": 17, "psn": 7}
    {"do": "fill", "offset": 0, "hex": "00ff"}
    {"do": "fill", "offset": 0, "seed": 1, "bytes": 1048576}
    {"do": "recv", "id": 1, "offset": 0, "bytes": 64}
    {"do": "post", "id": 2, "opcode": "write_imm", "offset": 0, "bytes": 5, "imm": 9,
     "to": 140000000, "rkey": 300}
    {"do": "poll", "count": 1, "limit_s": 5}
    {"do": "read", "offset": 0, "bytes": 2}
    {"do": "digest", "offset": 0, "bytes": 1048576}
    {"do": "close"}

The answer to `open` has what the other end needs: address, qpn, psn, rkey, region, bytes and mtu.
"""

import hashlib
import json
import random
import socket
import sys
import time
from collections.abc import Callable

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT = 7000
DEVICE = "rxe0"
WORK_REQUESTS = 64
MTUS = {
    256: e.IBV_MTU_256,
    512: e.IBV_MTU_512,
    1024: e.IBV_MTU_1024,
    2048: e.IBV_MTU_2048,
    4096: e.IBV_MTU_4096,
}
OPCODES = {
    "send": e.IBV_WR_SEND,
    "send_imm": e.IBV_WR_SEND_WITH_IMM,
    "write": e.IBV_WR_RDMA_WRITE,
    "write_imm": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "read": e.IBV_WR_RDMA_READ,
}
RIGHTS = {
    "local_write": e.IBV_ACCESS_LOCAL_WRITE,
    "remote_write": e.IBV_ACCESS_REMOTE_WRITE,
    "remote_read": e.IBV_ACCESS_REMOTE_READ,
}
ACCESS = sum(RIGHTS.values())


class Peer:
    """The queue pair that is open, if one is, and those that stay."""

    def __init__(self) -> None:
        self.opened: list[CQ | Context | MR | PD | QP] = []

    def open(
        self,
        *,
        mtu: int = 1024,
        psn: int = 0,
        bytes: int = 1 << 16,
        rights: str = "",
        keep: bool = False,
    ) -> dict:
        """`rights` are those of the region: words of RIGHTS; all by default."""
        if not keep:
            self.close()
        # The device may be younger than this process.
        self.context = Context(name=DEVICE)
        self.mtu, self.psn = mtu, psn
        self.pd = PD(self.context)
        region = sum(RIGHTS[word] for word in rights.split()) or ACCESS
        self.mr = MR(self.pd, bytes, region)
        self.mr.write("\0" * bytes, bytes)
        self.cq = CQ(self.context, 4 * WORK_REQUESTS)
        cap = QPCap(WORK_REQUESTS, WORK_REQUESTS, 1, 1)
        wanted = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1)
        self.qp = QP(self.pd, wanted)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        self.qp.to_init(attributes)
        self.opened = [self.qp, self.cq, self.mr, self.pd, self.context, *self.opened]
        self.gid_index, address = gid_of(self.context)
        return {
            "address": address,
            "qpn": self.qp.qp_num,
            "psn": psn,
            "rkey": self.mr.rkey,
            "region": self.mr.buf,
            "bytes": bytes,
            "mtu": mtu,
        }

    def connect(
        self,
        *,
        address: str,
        qpn: int,
        psn: int,
        timeout: int = 14,
        retries: int = 7,
        rnr_retries: int = 7,
        rnr_timer: int = 12,
    ) -> dict:
        words = socket.inet_aton(address).hex(":", 2)
        gid = GID(f"{'0000:' * 5}ffff:{words}")
        route = GlobalRoute(dgid=gid, sgid_index=self.gid_index)
        attributes = QPAttr(port_num=1)
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route, dlid=0)
        attributes.dest_qp_num, attributes.rq_psn = qpn, psn
        attributes.path_mtu = MTUS[self.mtu]
        attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1
        attributes.min_rnr_timer = rnr_timer
        attributes.qp_access_flags = ACCESS
        mask = e.IBV_QP_STATE | e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN
        mask |= e.IBV_QP_RQ_PSN | e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER
        attributes.qp_state = e.IBV_QPS_RTR
        self.qp.modify(attributes, mask)
        attributes.sq_psn, attributes.timeout = self.psn, timeout
        attributes.retry_cnt, attributes.rnr_retry = retries, rnr_retries
        attributes.qp_state = e.IBV_QPS_RTS
        mask = e.IBV_QP_STATE | e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT | e.IBV_QP_RNR_RETRY
        mask |= e.IBV_QP_SQ_PSN | e.IBV_QP_MAX_QP_RD_ATOMIC
        self.qp.modify(attributes, mask)
        return {}

    def fill(self, *, offset: int, hex: str = "", seed: int = 0, bytes: int = 0) -> dict:
        """Writes what `hex` says, or what `random.Random(seed).randbytes(bytes)` gives."""
        data = bytearray.fromhex(hex) if hex else random.Random(seed).randbytes(bytes)
        self.mr.write(data, len(data), offset)
        return {}

    def recv(self, *, id: int, offset: int = 0, bytes: int = 0) -> dict:
        self.qp.post_recv(RecvWR(wr_id=id, num_sge=1, sg=self.sge(offset, bytes)))
        return {}

    def post(
        self,
        *,
        id: int,
        opcode: str,
        offset: int = 0,
        bytes: int = 0,
        imm: int = 0,
        to: int = 0,
        rkey: int = 0,
        solicited: bool = False,
    ) -> dict:
        flags = e.IBV_SEND_SIGNALED | (e.IBV_SEND_SOLICITED if solicited else 0)
        code, sge = OPCODES[opcode], self.sge(offset, bytes)
        request = SendWR(
            wr_id=id, num_sge=1, sg=sge, opcode=code, send_flags=flags, imm_data=socket.htonl(imm)
        )
        if not opcode.startswith("send"):
            request.set_wr_rdma(rkey, to)
        self.qp.post_send(request)
        return {}

    def sge(self, offset: int, bytes: int) -> list[SGE]:
        return [SGE(self.mr.buf + offset, bytes, self.mr.lkey)]

    def poll(self, *, count: int = 1, limit_s: float = 5) -> dict:
        """Completions, fewer than `count` where the time is over."""
        until = time.monotonic() + limit_s
        completions: list[dict] = []
        while len(completions) < count and time.monotonic() < until:
            for done in self.cq.poll(count - len(completions))[1]:
                has_imm = done.wc_flags & e.IBV_WC_WITH_IMM
                imm = socket.ntohl(done.imm_data) if has_imm else None
                row = {"id": done.wr_id, "status": done.status, "opcode": done.opcode}
                completions.append({**row, "bytes": done.byte_len, "imm": imm})
        return {"completions": completions}

    def read(self, *, offset: int, bytes: int) -> dict:
        return {"hex": self.mr.read(bytes, offset).hex()}

    def digest(self, *, offset: int, bytes: int) -> dict:
        return {"sha256": hashlib.sha256(self.mr.read(bytes, offset)).hexdigest()}

    def close(self) -> dict:
        for one in self.opened:
            one.close()
        self.opened = []
        return {}

    def answer(self, line: str) -> dict:
        try:
            words = json.loads(line)
            name = words.pop("do")
            if name not in COMMANDS:
                return {"error": f"there is no command {name!r}"}
            command: Callable[..., dict] = getattr(self, name)
            return command(**words)
        except (PyverbsError, KeyError, TypeError, ValueError, AttributeError) as error:
            return {"error": f"{type(error).__name__}: {error}"}


COMMANDS = ("open", "connect", "fill", "recv", "post", "poll", "read", "digest", "close")


def gid_of(context: Context) -> tuple[int, str]:
    """The index of the GID that has an IPv4 address, and this address."""
    table = context.query_port(1).gid_tbl_len
    for index in range(table):
        words = context.query_gid(1, index).gid.split(":")
        if words[:5] == ["0000"] * 5 and words[5] == "ffff":
            number = int(words[6] + words[7], 16)
            return index, socket.inet_ntoa(number.to_bytes(4, "big"))
    raise PyverbsError(f"{DEVICE} has no IPv4 address")


def main() -> None:
    peer = Peer()
    with socket.create_server(("0.0.0.0", PORT)) as server:
        while True:
            connection, _ = server.accept()
            with connection, connection.makefile("r") as lines, connection.makefile("w") as out:
                for line in lines:
                    print(json.dumps(peer.answer(line)), file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main())
