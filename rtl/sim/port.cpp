#include "port.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace sw {
namespace {

constexpr size_t kFrameBytesMax = 9216;
constexpr int kSocketBytes = 4 << 20;
// How long the kernel waits for another frame of the same flow before it hands on what it has: more
// than lies between two frames at the simulation's speed.
constexpr unsigned kJoinNs = 1'000'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class Tap : public Port {
 public:
  Tap(const std::string& name, int mtu) : file_(open("/dev/net/tun", O_RDWR | O_NONBLOCK)) {
    if (file_.get() < 0) fail("/dev/net/tun");
    ifreq request{};
    std::snprintf(request.ifr_name, IFNAMSIZ, "%s", name.c_str());
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_NAPI;
    if (ioctl(file_.get(), TUNSETIFF, &request) < 0) fail("TAP device " + name);
    name_ = request.ifr_name;
    const int sndbuf = kSocketBytes;
    ioctl(file_.get(), TUNSETSNDBUF, &sndbuf);
    File control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (control.get() < 0) fail("socket");
    request.ifr_mtu = mtu;
    if (ioctl(control.get(), SIOCSIFMTU, &request) < 0) fail("MTU of " + name_);
    if (ioctl(control.get(), SIOCGIFFLAGS, &request) < 0) fail("flags of " + name_);
    request.ifr_flags |= IFF_UP;
    if (ioctl(control.get(), SIOCSIFFLAGS, &request) < 0) fail("bringing up " + name_);
    joins_ = join();
  }

  int fd() const override { return file_.get(); }

  bool receive(Bytes& frame) override {
    frame.resize(kFrameBytesMax);
    const ssize_t len = read(file_.get(), frame.data(), frame.size());
    if (len <= 0) return false;
    frame.resize(size_t(len));
    return true;
  }

  void send(const Bytes& frame) override {
    if (write(file_.get(), frame.data(), frame.size()) < 0) ++lost_;
  }

  std::string words() const override {
    return "TAP device " + name_ + (joins_ ? "" : ", whose frames are not joined on receipt");
  }

 private:
  // A write is a NAPI poll of one frame: only with a time to wait does the next one find it.
  // /sys may show another network namespace, with a device of the same name; and the right to
  // write there is that of the machine's root, not of a user namespace's.
  bool join() const {
    const std::string folder = "/sys/class/net/" + name_;
    std::ifstream index_file(folder + "/ifindex");
    unsigned index = 0;
    if (!(index_file >> index) || index != if_nametoindex(name_.c_str())) return false;
    std::ofstream timeout(folder + "/gro_flush_timeout");
    return bool(timeout << kJoinNs << std::flush);
  }

  File file_;
  std::string name_;
  bool joins_ = false;
  uint64_t lost_ = 0;
};

class UnixSocket : public Port {
 public:
  explicit UnixSocket(const std::string& path)
      : file_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), path_(path) {
    if (file_.get() < 0) fail("socket");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
      errno = ENAMETOOLONG;
      fail(path);
    }
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
    remove_socket(path);
    if (bind(file_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) < 0) fail(path);
    setsockopt(file_.get(), SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof(kSocketBytes));
  }

  ~UnixSocket() override { unlink(path_.c_str()); }

  int fd() const override { return file_.get(); }

  bool receive(Bytes& frame) override {
    frame.resize(kFrameBytesMax);
    // The length of an abstract name counts.
    sockaddr_un peer{};
    socklen_t peer_len = sizeof(peer);
    const ssize_t len = recvfrom(file_.get(), frame.data(), frame.size(), 0,
                                 reinterpret_cast<sockaddr*>(&peer), &peer_len);
    if (len <= 0) return false;
    peer_ = peer;
    peer_len_ = peer_len;
    frame.resize(size_t(len));
    return true;
  }

  void send(const Bytes& frame) override {
    if (peer_len_ == 0) return;
    const auto* to = reinterpret_cast<const sockaddr*>(&peer_);
    if (sendto(file_.get(), frame.data(), frame.size(), 0, to, peer_len_) < 0) ++lost_;
  }

  std::string words() const override { return "datagram socket " + path_; }

 private:
  File file_;
  std::string path_;
  sockaddr_un peer_{};
  socklen_t peer_len_ = 0;
  uint64_t lost_ = 0;
};

// Each sender's port becomes a port of the one host that the board sees.
class UdpSocket : public Port {
 public:
  UdpSocket(uint16_t port, const Address& board)
      : file_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), board_(board) {
    if (file_.get() < 0) fail("socket");
    setsockopt(file_.get(), SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof(kSocketBytes));
    setsockopt(file_.get(), SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof(kSocketBytes));
    const sockaddr_in address = local(port);
    if (bind(file_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0)
      fail("127.0.0.1:" + std::to_string(port));
    port_ = port;
  }

  int fd() const override { return file_.get(); }

  bool receive(Bytes& frame) override {
    uint8_t datagram[kFrameBytesMax];
    sockaddr_in from{};
    socklen_t from_len = sizeof(from);
    const ssize_t len = recvfrom(file_.get(), datagram, sizeof(datagram), 0,
                                 reinterpret_cast<sockaddr*>(&from), &from_len);
    if (len < 0) return false;
    const Address host{{0x02, 0, 0, 0, 0, 2}, (board_.ip & ~0xFFu) | 1, ntohs(from.sin_port)};
    frame = udp_frame(host, board_, datagram, size_t(len));
    return true;
  }

  void send(const Bytes& frame) override {
    const auto datagram = parse_udp(frame);
    if (!datagram) return;
    const sockaddr_in to = local(get16(&frame[36]));
    if (sendto(file_.get(), datagram->data, datagram->len, 0,
               reinterpret_cast<const sockaddr*>(&to), sizeof(to)) < 0)
      ++lost_;
  }

  std::string words() const override { return "UDP at 127.0.0.1:" + std::to_string(port_); }

 private:
  static sockaddr_in local(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  File file_;
  Address board_;
  uint16_t port_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace

void remove_socket(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path.c_str());
}

std::unique_ptr<Port> open_tap(const std::string& name, int mtu) {
  return std::make_unique<Tap>(name, mtu);
}

std::unique_ptr<Port> open_unix(const std::string& path) {
  return std::make_unique<UnixSocket>(path);
}

std::unique_ptr<Port> open_udp(uint16_t port, const Address& board) {
  return std::make_unique<UdpSocket>(port, board);
}

}  // namespace sw
