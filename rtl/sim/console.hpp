// A stream socket on which programs ask in lines of text and are answered in lines of text.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

namespace sw {

class Console {
 public:
  // Gives the lines that answer a line; the last one is `ok`, a value, or `error: ...`.
  using Answer = std::function<std::string(const std::string& line)>;

  // Listens at `path`; nothing else may listen there.
  Console(const std::string& path, Answer answer);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Answers what has come. Never blocks: a client that does not read its answers is disconnected.
  void serve();
  // What to wait for.
  void add_to(std::vector<pollfd>& files) const;

 private:
  static constexpr size_t kClientsMax = 8;
  static constexpr size_t kLineBytesMax = 128;

  struct Client {
    int fd;
    std::string line;
  };

  void accept_clients();
  bool serve_client(Client& client);

  std::string path_;
  Answer answer_;
  int fd_ = -1;
  std::vector<Client> clients_;
};

}  // namespace sw
