#include "server/peers/peer_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "bson/builder.h"
#include "server/wire/message.h"

namespace server::peers {

using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr size_t read_step = 1 << 20;  // memory is taken for bytes that came, not for the announced length

OperationError unreachable(const std::string& text) {
  return {ErrorCode::host_unreachable, text};
}
OperationError wrong_reply(const std::string& text) {
  return {ErrorCode::protocol_error, text};
}

}  // namespace

bson::Document checked_reply(bson::Document reply, const std::string& address) {
  if (reply.find("ok").truthy()) return reply;
  const auto code = reply.find("code");
  const auto message = reply.find("errmsg");
  throw OperationError(
      code.is_number() && code.to_int64() != 0 ? static_cast<ErrorCode>(code.to_int64()) : ErrorCode::unknown_error,
      message.is_string() ? std::string(message.as_string()) : "no message from " + address);
}

bson::Document PeerChannel::call(const std::string& db, bson::DocumentView command, Time deadline) {
  bson::Builder body;
  body.append_all(command).append("$db", db);
  last_request_ = last_request_ == INT32_MAX ? 1 : last_request_ + 1;
  send_all(wire::encode_msg(last_request_, wire::checksum_present, body.done()), deadline);
  Bytes whole;
  receive(whole, wire::header_bytes, deadline);
  const wire::Header header = wire::decode_header(whole).or_throw();
  if (static_cast<uint32_t>(header.length) > reply_bytes_max_) {
    throw wrong_reply("a reply of " + std::to_string(header.length) + " bytes from " + address_ +
                      " is larger than was asked for");
  }
  receive(whole, static_cast<size_t>(header.length), deadline);
  const auto decoded = wire::decode_reply(whole);
  if (!decoded) throw wrong_reply("a reply from " + address_ + " can't be read: " + decoded.failure().message);
  const wire::ReplyMessage& reply = decoded.value();
  if (reply.response_to != last_request_) throw wrong_reply("a reply from " + address_ + " answers another command");
  if (reply.flags & wire::more_to_come) throw wrong_reply("a reply from " + address_ + " is the first of several");
  if (!(reply.flags & wire::checksum_present)) throw wrong_reply("a reply from " + address_ + " has no checksum");
  return bson::Document(reply.body);
}

void PeerChannel::shake_hands(Time deadline) const {
  using base::tls::Need;
  for (;;) {
    const Need need = tls_->handshake();
    if (need == Need::nothing) return;
    if (need == Need::failed || need == Need::closed)
      throw unreachable("Error connecting to " + address_ + " :: caused by :: SSLHandshakeFailed: " + tls_->failure());
    await(need == Need::read ? POLLIN : POLLOUT, deadline, "shaking hands with");
  }
}

void PeerChannel::await(short events, Time deadline, const char* doing) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    std::array<pollfd, 2> both{{{socket_, events, 0}, {interrupt_, POLLIN, 0}}};
    const int ready = left <= 0 ? 0 : ::poll(both.data(), both.size(), static_cast<int>(std::min<int64_t>(left, INT32_MAX)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw unreachable(std::string("poll failed while ") + doing + " " + address_ + ": " + std::strerror(errno));
    if (both[1].revents != 0)
      throw OperationError(ErrorCode::shutdown_in_progress, std::string("interrupted while ") + doing + " " + address_);
    if (both[0].revents != 0) return;
    if (steady_clock::now() >= deadline)
      throw OperationError(ErrorCode::network_timeout, std::string("time ran out while ") + doing + " " + address_);
  }
}

void PeerChannel::send_all(BytesView bytes, Time deadline) {
  while (tls_ && !bytes.empty()) {
    const auto [written, need] = tls_->write(bytes);
    bytes.remove_prefix(written);
    if (need == base::tls::Need::nothing) continue;
    if (need == base::tls::Need::failed || need == base::tls::Need::closed)
      throw unreachable("the connection to " + address_ + " broke: " + tls_->failure());
    await(need == base::tls::Need::read ? POLLIN : POLLOUT, deadline, "sending to");
  }
  while (!bytes.empty()) {
    await(POLLOUT, deadline, "sending to");
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) throw unreachable("the connection to " + address_ + " broke: " + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

// Receives until `into` has that many bytes.
void PeerChannel::receive(Bytes& into, size_t bytes, Time deadline) {
  size_t got = into.size();
  while (got < bytes) {
    if (got == into.size()) into.resize(std::min(bytes, got + std::max(got, read_step)));
    if (tls_) {
      const auto [more, need] = tls_->read(into.data() + got, into.size() - got);
      got += more;
      if (need == base::tls::Need::nothing) continue;
      if (need == base::tls::Need::failed || need == base::tls::Need::closed)
        throw unreachable("the connection to " + address_ + " was closed by the other side " + tls_->failure());
      await(need == base::tls::Need::read ? POLLIN : POLLOUT, deadline, "waiting for");
      continue;
    }
    await(POLLIN, deadline, "waiting for");
    const ssize_t received = ::recv(socket_, into.data() + got, into.size() - got, 0);
    if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (received < 0) throw unreachable("the connection to " + address_ + " broke: " + std::strerror(errno));
    if (received == 0) throw unreachable("the connection to " + address_ + " was closed by the other side");
    got += static_cast<size_t>(received);
  }
}

}  // namespace server::peers
