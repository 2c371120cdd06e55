#include "bench/measure/clients.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "base/bytes.h"
#include "bson/json.h"

namespace bench {

using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t head_bytes = 21;  // header, flags, the kind of the one section
constexpr int op_msg = 2013;

int open_connection(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == address.npos) throw std::runtime_error(address + " is not HOST:PORT");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0)
    throw std::runtime_error(address + ": there is no such host");
  const int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = connect(descriptor, found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  if (!connected) {
    close(descriptor);
    throw std::runtime_error("cannot connect to " + address);
  }
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return descriptor;
}

}  // namespace

void demand_accepted(bson::DocumentView reply) {
  if (!reply.find("ok").truthy() || reply.has("writeErrors") || reply.has("writeConcernError"))
    throw std::runtime_error("the server refused the request: " + bson::to_json(reply));
}

struct Clients::Connection {
  int descriptor = -1;
  base::Bytes out, in;
  size_t received = 0;

  size_t reply_bytes() const { return received < 4 ? 0 : static_cast<size_t>(base::load_le<int32_t>(in.data())); }
  bson::DocumentView reply() const {
    return bson::DocumentView(base::BytesView(in).substr(head_bytes, reply_bytes() - head_bytes));
  }
};

Clients::Clients(const std::string& address, size_t connections) : poll_(epoll_create1(EPOLL_CLOEXEC)) {
  for (size_t i = 0; i < connections; ++i) {
    auto connection = std::make_unique<Connection>();
    connection->descriptor = open_connection(address);
    connection->in.resize(64 << 10);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(poll_, EPOLL_CTL_ADD, connection->descriptor, &event);
    connections_.push_back(std::move(connection));
  }
}

Clients::~Clients() {
  for (const auto& connection : connections_) close(connection->descriptor);
  close(poll_);
}

void Clients::send(Connection& connection, bson::DocumentView command) {
  base::Bytes& out = connection.out;
  out.clear();
  base::append_le(out, static_cast<int32_t>(head_bytes + command.size()));
  for (const int32_t field : {1, 0, op_msg, 0}) base::append_le(out, field);
  out.push_back(0);
  out.append(command.bytes());
  connection.received = 0;
  for (size_t done = 0; done < out.size();) {
    const ssize_t sent = ::send(connection.descriptor, out.data() + done, out.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the server closed the connection");
    done += static_cast<size_t>(sent);
  }
}

bool Clients::receive(Connection& connection) {
  if (connection.received == connection.in.size())
    connection.in.resize(std::max(connection.reply_bytes(), 2 * connection.in.size()));
  const ssize_t got =
      recv(connection.descriptor, connection.in.data() + connection.received, connection.in.size() - connection.received, 0);
  if (got <= 0) throw std::runtime_error("the server closed the connection");
  connection.received += static_cast<size_t>(got);
  return connection.received >= head_bytes && connection.received >= connection.reply_bytes();
}

bson::Document Clients::ask(bson::DocumentView command) {
  Connection& first = *connections_.front();
  send(first, command);
  while (!receive(first)) {
  }
  demand_accepted(first.reply());
  return bson::Document(first.reply());
}

void Clients::converse(const NextStep& next) {
  size_t busy = 0;
  const auto go_on = [&](size_t number, const bson::DocumentView* reply) {
    const std::optional<bson::Document> request = next(number, reply);
    if (request) send(*connections_[number], *request);
    return request.has_value();
  };
  for (size_t i = 0; i < connections_.size(); ++i) busy += go_on(i, nullptr);
  std::vector<epoll_event> events(connections_.size());
  while (busy > 0) {
    const int ready = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const size_t number = events[static_cast<size_t>(i)].data.u64;
      Connection& connection = *connections_[number];
      if (!receive(connection)) continue;
      const bson::DocumentView reply = connection.reply();
      if (!go_on(number, &reply)) --busy;
    }
  }
}

Lap Clients::run(std::chrono::duration<double> time, const NextRequest& next) {
  std::vector<float> latencies_us;
  std::vector<Clock::time_point> sent(connections_.size());
  const auto begun = Clock::now();
  const auto end = begun + std::chrono::duration_cast<Clock::duration>(time);
  converse([&](size_t number, const bson::DocumentView* reply) -> std::optional<bson::Document> {
    if (reply) {
      const auto now = Clock::now();
      demand_accepted(*reply);
      latencies_us.push_back(std::chrono::duration<float, std::micro>(now - sent[number]).count());
      if (now >= end) return std::nullopt;
    }
    bson::Document request = next(number);
    sent[number] = Clock::now();
    return request;
  });
  Lap lap;
  lap.operations = latencies_us.size();
  lap.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  lap.latency = latency_of(std::move(latencies_us));
  return lap;
}

}  // namespace bench
