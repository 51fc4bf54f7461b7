#include "console.hpp"

#include "port.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace sw {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

bool say(int fd, const std::string& text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == ssize_t(text.size());
}

}  // namespace

Console::Console(const std::string& path, Answer answer)
    : path_(path), answer_(std::move(answer)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    fail(path);
  }
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail("socket");
  // A board that was killed leaves its socket behind; one that lives answers there.
  if (connect(fd_, name, sizeof(address)) == 0) {
    close(fd_);
    errno = EADDRINUSE;
    fail(path);
  }
  if (errno == ECONNREFUSED) remove_socket(path);
  if (bind(fd_, name, sizeof(address)) < 0 || listen(fd_, int(kClientsMax)) < 0) {
    const int why = errno;
    close(fd_);
    errno = why;
    fail(path);
  }
}

Console::~Console() {
  for (const Client& client : clients_) close(client.fd);
  close(fd_);
  unlink(path_.c_str());
}

void Console::serve() {
  accept_clients();
  std::erase_if(clients_, [this](Client& client) {
    const bool is_over = !serve_client(client);
    if (is_over) close(client.fd);
    return is_over;
  });
}

void Console::add_to(std::vector<pollfd>& files) const {
  files.push_back({fd_, POLLIN, 0});
  for (const Client& client : clients_) files.push_back({client.fd, POLLIN, 0});
}

void Console::accept_clients() {
  for (size_t i = 0; i < kClientsMax; ++i) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (clients_.size() < kClientsMax) {
      clients_.push_back({fd, ""});
    } else {
      say(fd, "error: too many clients\n");
      close(fd);
    }
  }
}

bool Console::serve_client(Client& client) {
  char bytes[kLineBytesMax];
  const ssize_t len = recv(client.fd, bytes, sizeof(bytes), 0);
  if (len < 0) return errno == EAGAIN || errno == EINTR;
  if (len == 0) return false;
  client.line.append(bytes, size_t(len));
  for (size_t end; (end = client.line.find('\n')) != std::string::npos;) {
    const std::string line = client.line.substr(0, end);
    client.line.erase(0, end + 1);
    if (!say(client.fd, answer_(line))) return false;
  }
  if (client.line.size() < kLineBytesMax) return true;
  say(client.fd, "error: a line is longer than " + std::to_string(kLineBytesMax) + " bytes\n");
  return false;
}

}  // namespace sw
