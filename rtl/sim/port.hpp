// Where the virtual board's Ethernet port leads: a TAP device, a datagram socket, or UDP.
#pragma once

#include <memory>
#include <string>

#include "frame.hpp"

namespace sw {

class Port {
 public:
  virtual ~Port() = default;
  // For poll(2): readable when a frame may have come.
  virtual int fd() const = 0;
  // The next frame that came; false when there is none. Never blocks.
  virtual bool receive(Bytes& frame) = 0;
  // Frames that find no room at the far end are lost, as on a wire.
  virtual void send(const Bytes& frame) = 0;
  virtual std::string words() const = 0;
};

// A TAP device called `name`, made when it is not there, brought up with `mtu`; needs CAP_NET_ADMIN
// in its network namespace. Frames enter the kernel by NAPI, so that it may join them.
std::unique_ptr<Port> open_tap(const std::string& name, int mtu);

// An AF_UNIX datagram socket bound to `path`: one frame a datagram. Answers go to the last sender.
std::unique_ptr<Port> open_unix(const std::string& path);

// A UDP socket at 127.0.0.1:`port`, for users who may not make a TAP. What comes there is wrapped
// into frames to `board` with the sender's port kept. What the board sends goes to the port it
// names. The board answers the address that a frame came from, so no ARP is needed.
std::unique_ptr<Port> open_udp(uint16_t port, const Address& board);

// Removes the socket that a program left at `path` when it was killed; nothing else.
void remove_socket(const std::string& path);

}  // namespace sw
