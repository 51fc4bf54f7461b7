#include "board_options.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace sw {
namespace {

constexpr uint64_t kSlowMax = 1'000;

constexpr uint32_t kQpnMin = 2, kNumberMax = (1 << 24) - 1;
constexpr uint64_t kRegionBytesMax = 1 << 30;

constexpr const char* kUsage =
    "The sender in hardware, simulated, as a board on a network.\n\n"
    "board --tap NAME | --unix PATH | --udp PORT [options]\n\n"
    "  --tap NAME        Ethernet on a TAP device: needs CAP_NET_ADMIN in its network namespace\n"
    "  --unix PATH       Ethernet on an AF_UNIX datagram socket, one frame a datagram\n"
    "  --udp PORT        UDP at 127.0.0.1:PORT, wrapped into frames for the board\n"
    "  --ip A.B.C.D      the board's address [10.64.0.2]\n"
    "  --port N          the board's UDP port [9100]\n"
    "  --mac M           the board's Ethernet address [02:53:57:00:00:01]\n"
    "  --payload BYTES   of a full packet [1408]\n"
    "  --rate N          samples a second [as fast as the ring takes them]\n"
    "  --slow N          slow motion: the board's clock runs N times slower, 1 to 1000 [1]\n"
    "  --loss P          share of frames lost, each way [0]\n"
    "  --corrupt P       share of datagrams with a bit turned and the checksum corrected [0]\n"
    "  --seed N          what loss and corruption are drawn from [1]\n"
    "  --boot-id N       [random]\n"
    "  --registers PATH  a stream socket that answers read, write, counters, reset, close\n"
    "  --trace FILE.fst  every signal of every cycle; the board is to be built for it\n"
    "  --duration N      ends after N seconds [at a signal]; --seconds is an alias\n"
    "  --carriage C      udp, or rdma: RoCEv2 to the memory of a peer, for which the board is to be\n"
    "                    built (CARRIAGE=rdma) [udp]\n"
    "  --nic FILE        a NIC with soft cores beside the sender, and their program; the board is to be\n"
    "                    built for it (SOC=1)\n"
    "  --mode M          of that NIC: normal, nic (its loop-back) or mac (loop-back of the MAC: the sender's\n"
    "                    frames go nowhere then) [normal]\n"
    "  --nic-mac M       Ethernet address of that NIC and its cores [02:53:57:49:52:00]\n"
    "  --ps P            yes, or no: nothing but the cores' program configures the sender [yes]\n\n"
    "With --carriage rdma, without --port, --payload, --rate, --boot-id and --udp:\n\n"
    "  --peer FILE       where the peer's connection line will be, e.g. the messages of\n"
    "                    `samplewire roce listen --peer LINE 2>FILE`; needed\n"
    "  --line FILE       where the board's own line is written, too\n"
    "  --qpn N           number of the board's queue pair, 2 to 2^24 - 1 [17]\n"
    "  --psn N           PSN of its first request, below 2^24 [0]\n"
    "  --mtu N           path MTU: 256, 512, 1024, 2048 or 4096; the peer's counts if smaller [4096]\n"
    "  --message BYTES   of a message: multiples of 8, to 1 MiB [4096]\n"
    "  --messages N      ends the source after N messages [never]\n\n"
    "Built with FULL=1 as well, the board takes what a peer writes and sends, and sends nothing to a peer\n"
    "that opens no region:\n\n"
    "  --region BYTES    memory that the peer may write to; receive requests of --message bytes each are\n"
    "                    for it too, one behind the other [1048576]\n"
    "  --out FILE        gets that memory in the end\n";

}  // namespace

uint64_t number(const std::string& name, const std::string& text, uint64_t min, uint64_t max) {
  size_t end = 0;
  uint64_t value = 0;
  try {
    if (text.find('-') == text.npos) value = std::stoull(text, &end, 0);
  } catch (const std::logic_error&) {
    end = 0;
  }
  if (end == 0 || end != text.size() || value < min || value > max)
    throw std::runtime_error(name + ": `" + text + "` is no number from " + std::to_string(min) +
                             " to " + std::to_string(max));
  return value;
}

uint32_t parse_ip(const std::string& name, const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1)
    throw std::runtime_error(name + ": `" + text + "` is no IPv4 address");
  return ntohl(address.s_addr);
}

uint32_t parse_path_mtu(const std::string& name, const std::string& text) {
  for (const uint32_t mtu : {256, 512, 1024, 2048, 4096})
    if (text == std::to_string(mtu)) return mtu;
  throw std::runtime_error(name + ": `" + text + "` is no path MTU: 256, 512, 1024, 2048, 4096");
}

namespace {

double share(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= 0 && value < 1))
    throw std::runtime_error(name + ": `" + text + "` is no share from 0 to below 1");
  return value;
}

std::array<uint8_t, 6> parse_mac(const std::string& name, const std::string& text) {
  unsigned bytes[6];
  char rest;
  const int read = std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x%c", &bytes[0], &bytes[1],
                               &bytes[2], &bytes[3], &bytes[4], &bytes[5], &rest);
  if (read != 6 || text.size() != std::strlen("00:00:00:00:00:00") || bytes[0] & 1)
    throw std::runtime_error(name + ": `" + text + "` is no Ethernet address of one station");
  std::array<uint8_t, 6> mac;
  std::copy(bytes, bytes + 6, mac.begin());
  return mac;
}

void set_mode(NicOptions& nic, const std::string& text) {
  if (text != "normal" && text != "nic" && text != "mac")
    throw std::runtime_error("--mode: `" + text + "` is no mode: normal, nic, mac");
  nic.mode = text;
}

void set_ps(NicOptions& nic, const std::string& text) {
  if (text != "yes" && text != "no")
    throw std::runtime_error("--ps: `" + text + "` is not yes or no");
  nic.has_ps = text == "yes";
}

void set(BoardOptions& options, const std::string& name, const std::string& text) {
  const auto count = [&](uint64_t max = UINT64_MAX) { return number(name, text, 0, max); };
  if (name == "--tap") options.tap = text;
  else if (name == "--unix") options.unix_path = text;
  else if (name == "--udp") options.udp_port = uint16_t(count(65535));
  else if (name == "--ip") options.setup.self.ip = parse_ip(name, text);
  else if (name == "--port") options.setup.self.port = uint16_t(count(65535));
  else if (name == "--mac") std::ranges::copy(parse_mac(name, text), options.setup.self.mac);
  else if (name == "--payload") options.setup.payload_bytes = uint32_t(count(65535));
  else if (name == "--rate") options.rate_hz = count(kSourceRateHzMax);
  else if (name == "--slow") options.slow = count(kSlowMax);
  else if (name == "--loss") options.loss = share(name, text);
  else if (name == "--corrupt") options.corruption = share(name, text);
  else if (name == "--seed") options.seed = count();
  else if (name == "--boot-id") options.boot_id = count();
  else if (name == "--registers") options.registers_path = text;
  else if (name == "--trace") options.trace_path = text;
  else if (name == "--duration" || name == "--seconds")
    options.seconds =
        number(name, text.substr(0, text.size() - text.ends_with('s')), 0, 1'000'000'000);
  else if (name == "--carriage") options.carriage = text;
  else if (name == "--peer") options.roce.peer_path = text;
  else if (name == "--line") options.roce.line_path = text;
  else if (name == "--qpn") options.roce.qpn = uint32_t(number(name, text, kQpnMin, kNumberMax));
  else if (name == "--psn") options.roce.psn = uint32_t(count(kNumberMax));
  else if (name == "--mtu") options.roce.mtu = parse_path_mtu(name, text);
  else if (name == "--message") options.roce.message_bytes = uint32_t(count(UINT32_MAX));
  else if (name == "--messages") options.roce.messages = uint32_t(count(UINT32_MAX));
  else if (name == "--region") options.roce.region_bytes = number(name, text, 1, kRegionBytesMax);
  else if (name == "--out") options.roce.out_path = text;
  else if (name == "--nic") options.nic.program_path = text;
  else if (name == "--mode") set_mode(options.nic, text);
  else if (name == "--nic-mac") options.nic.mac = parse_mac(name, text);
  else if (name == "--ps") set_ps(options.nic, text);
  else throw std::runtime_error("no option is called " + name);
}

}  // namespace

std::optional<BoardOptions> parse_board_options(int argc, char** argv, int& status) {
  BoardOptions options;
  try {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (name == "--help" || name == "-h") {
        std::fputs(kUsage, stdout);
        status = 0;
        return {};
      }
      if (i + 1 == argc) throw std::runtime_error(name + " needs a value");
      set(options, name, argv[i + 1]);
    }
    const int ports = !options.tap.empty() + !options.unix_path.empty() + bool(options.udp_port);
    if (options.slow == 0) throw std::runtime_error("--slow: `0` is no number from 1 to 1000");
    if (ports != 1) throw std::runtime_error("one of --tap, --unix and --udp is needed");
    const NicOptions& nic = options.nic;
    if (nic.program_path.empty() && (nic.mode != "normal" || !nic.has_ps || nic.mac))
      throw std::runtime_error("--mode, --nic-mac and --ps need --nic");
    return options;
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "board: %s; --help lists the options\n", error.what());
    status = 1;
    return {};
  }
}

uint32_t source_rate_q(uint64_t rate_hz, uint32_t sample_bytes) {
  const uint64_t rate_q = (rate_hz * sample_bytes * 65536 + 500'000'000) / 1'000'000'000;
  // 0 would be without a limit.
  return rate_hz && !rate_q ? 1 : uint32_t(rate_q);
}

uint64_t source_rate_hz(uint32_t rate_q, uint32_t sample_bytes) {
  return uint64_t(rate_q) * 1'000'000'000 / 65536 / sample_bytes;
}

}  // namespace sw
