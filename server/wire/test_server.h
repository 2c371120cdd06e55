// Tests use a server without storage on a free port, and a client that sends raw
// bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "server/assembly/assembly.h"
#include "server/core/command_registry.h"
#include "server/core/services.h"
#include "server/wire/listener.h"
#include "server/wire/message.h"

namespace server::wire {

inline Options test_options() {
  Options options;
  options.port = 0;
  options.dbpath.clear();
  options.unix_socket = false;
  return options;
}

struct TestServer {
  explicit TestServer(Options options = test_options(), std::unique_ptr<Command> extra = nullptr)
      : assembly(std::move(options)), listener(assembly.services(), assembly.dispatcher()) {
    if (extra) assembly.services().commands.add(std::move(extra));
    listener.start();
  }
  std::string uri(const std::string& query = "") const {
    return "mongodb://127.0.0.1:" + std::to_string(listener.port()) + "/?" + query;
  }

  Assembly assembly;
  Listener listener;
};

// A blocking client; a read waits five seconds at most.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{5, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("connect failed");
  }
  ~RawClient() { close(); }
  RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  // Returns false if the other side closed the connection.
  bool send(BytesView bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Returns a whole message; empty if the server closed the connection (or is silent too long).
  Bytes receive() {
    Bytes head = take(header_bytes);
    if (head.size() < header_bytes) return {};
    const auto header = decode_header(head).or_throw();
    return head + take(static_cast<size_t>(header.length) - header_bytes);
  }
  // Returns the document of the next OP_MSG reply.
  bson::Document reply() {
    const Bytes bytes = receive();
    if (bytes.size() < 26) throw std::runtime_error("no reply");
    const auto length = static_cast<size_t>(base::load_le<int32_t>(bytes.data() + 21));
    return bson::Document(bytes.substr(21, length));
  }
  bson::Document run(bson::DocumentView command, uint32_t flags = 0) {
    if (!send(encode_msg(1, flags, command))) throw std::runtime_error("connection closed");
    return reply();
  }

  // Returns that many bytes; fewer if the server closed the connection.
  Bytes take(size_t size) {
    Bytes bytes(size, '\0');
    size_t got = 0;
    while (got < size) {
      const ssize_t n = ::recv(socket_, bytes.data() + got, size - got, 0);
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
    bytes.resize(got);
    return bytes;
  }

 private:
  int socket_;
};

}  // namespace server::wire
