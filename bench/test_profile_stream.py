"""Samples of perf, given to steps."""

import unittest

import profile_stream


class Steps(unittest.TestCase):
    def test_a_sample_goes_to_the_first_step_that_its_calls_name(self) -> None:
        chains = """
samplewire-tx
\tffffffff81000001 __udp_enqueue_schedule_skb
\tffffffff81000002 net_rx_action
\tffffffff81000003 __sys_sendmmsg

samplewire-tx
\tffffffff81000004 udp_sendmsg
\tffffffff81000003 __sys_sendmmsg

samplewire-tx
\t          101829 crc_fast::crc32::iscsi

swapper
\tffffffff81000005 pv_native_safe_halt

samplewire-rx
\t          113411 samplewire::receiver::places::Places::store
"""
        sender, receiver = profile_stream.STEPS["sender"], profile_stream.STEPS["receiver"]
        self.assertEqual(
            profile_stream.count(chains),
            {
                ("sender", sender[0][0]): 1,
                ("sender", "UDP, IP, memory of packets"): 1,
                ("sender", "CRC of payloads"): 1,
                ("receiver", receiver[-1][0]): 1,
            },
        )


if __name__ == "__main__":
    unittest.main()
