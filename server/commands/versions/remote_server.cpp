#include "server/commands/versions/remote_server.h"

#include <mongoc/mongoc.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <exception>
#include <iterator>
#include <optional>
#include <vector>

#include "base/error.h"
#include "bson/validate.h"
#include "server/core/operation.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

// A wait lasts so long until the operation is asked whether it goes on.
constexpr int32_t slice_ms = 50;
constexpr int32_t connect_ms = 10'000, answer_ms = 600'000;
constexpr size_t reply_bytes_max = 48'000'000;  // as a message may have

void start_library() {
  static const bool once = [] {
    mongoc_init();
    mongoc_log_set_handler(nullptr, nullptr);
    return true;
  }();
  (void)once;
}

using Uri = std::unique_ptr<mongoc_uri_t, decltype(&mongoc_uri_destroy)>;

Uri parsed(const std::string& text) {
  start_library();
  bson_error_t error;
  Uri uri(mongoc_uri_new_with_error(text.c_str(), &error), mongoc_uri_destroy);
  if (!uri) throw OperationError(ErrorCode::bad_value, "the URI of the remote: " + std::string(error.message));
  return uri;
}

// Returns the text as it may stand in a URI, where the characters of `special` may stand, too.
std::string escaped(std::string_view text, std::string_view special = {}) {
  constexpr std::string_view digits = "0123456789ABCDEF", plain = "-._~$";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && std::isalnum(byte)) || plain.find(c) != plain.npos || special.find(c) != special.npos) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

// Returns the value of an option or a part of the credentials; nullopt: there is none.
std::optional<std::string> value_in(const bson_t* options, const char* name) {
  bson_iter_t at;
  if (!options || !bson_iter_init_find_case(&at, options, name)) return std::nullopt;
  if (BSON_ITER_HOLDS_BOOL(&at)) return bson_iter_bool(&at) ? "true" : "false";
  if (BSON_ITER_HOLDS_INT(&at)) return std::to_string(bson_iter_as_int64(&at));
  if (BSON_ITER_HOLDS_UTF8(&at)) return bson_iter_utf8(&at, nullptr);
  return std::nullopt;
}

// Puts together what everybody may see who may list the remotes. It is made of what libmongoc has read, and has no option that
// isn't known to be harmless: a URI may have secrets in more than one place, and each of them more than once.
std::string shown_text(const mongoc_uri_t* uri) {
  static constexpr const char* options[] = {"directConnection",
                                            "loadBalanced",
                                            "replicaSet",
                                            "socketTimeoutMS",
                                            "srvMaxHosts",
                                            "srvServiceName",
                                            "ssl",
                                            "tls",
                                            "tlsAllowInvalidCertificates",
                                            "tlsAllowInvalidHostnames",
                                            "tlsCAFile",
                                            "tlsCertificateKeyFile",
                                            "tlsDisableCertificateRevocationCheck",
                                            "tlsDisableOCSPEndpointCheck",
                                            "tlsInsecure",
                                            "zlibCompressionLevel"};
  const char* const service = mongoc_uri_get_srv_hostname(uri);
  std::string text = service ? "mongodb+srv://" : "mongodb://";
  if (const char* const user = mongoc_uri_get_username(uri)) text += escaped(user) + "@";
  if (service) text += escaped(service);
  const char* separator = "";
  for (const mongoc_host_list_t* host = service ? nullptr : mongoc_uri_get_hosts(uri); host; host = host->next) {
    text += separator + escaped(host->host_and_port, "[:]");
    separator = ",";
  }
  text += "/" + escaped(mongoc_uri_get_database(uri));
  separator = "?";
  const auto append = [&](const bson_t* from, const char* name) {
    const auto value = value_in(from, name);
    if (!value) return;
    text += separator + std::string(name) + "=" + escaped(*value);
    separator = "&";
  };
  for (const char* const name : {"authMechanism", "authSource"}) append(mongoc_uri_get_credentials(uri), name);
  for (const char* const name : options) append(mongoc_uri_get_options(uri), name);
  return text;
}

// Returns whether a connection would use files of this server, or what it is to other services (its Kerberos ticket, its role in
// a cloud).
bool uses_the_server(const mongoc_uri_t* uri) {
  const bson_t* const options = mongoc_uri_get_options(uri);
  for (const char* const name : {MONGOC_URI_TLSCAFILE, MONGOC_URI_TLSCERTIFICATEKEYFILE, MONGOC_URI_SSLCERTIFICATEAUTHORITYFILE,
                                 MONGOC_URI_SSLCLIENTCERTIFICATEKEYFILE}) {
    if (value_in(options, name)) return true;
  }
  const char* const mechanism = mongoc_uri_get_auth_mechanism(uri);
  if (!mechanism) return false;
  static constexpr std::string_view by_password[] = {"SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN", "MONGODB-CR"};
  return std::find(std::begin(by_password), std::end(by_password), std::string_view(mechanism)) == std::end(by_password);
}

// libmongoc calls back with this. No exception may pass through it, so one that stops the operation is kept.
struct Asked {
  OperationContext& op;
  std::exception_ptr stopped = nullptr;

  bool goes_on() {
    if (stopped) return false;
    try {
      op.check_interrupt();
      return true;
    } catch (...) {
      stopped = std::current_exception();
      return false;
    }
  }
};

// A stream around a socket's, which waits in slices.
struct Waiting {
  mongoc_stream_t stream;
  mongoc_stream_t* base;
  Asked* asked;
  bool nothing_yet;  // a read that doesn't wait found nothing
};

Waiting* waiting(mongoc_stream_t* stream) {
  return reinterpret_cast<Waiting*>(stream);
}

void destroy(mongoc_stream_t* stream) {
  mongoc_stream_destroy(waiting(stream)->base);
  bson_free(stream);
}
void failed(mongoc_stream_t* stream) {
  mongoc_stream_failed(waiting(stream)->base);
  bson_free(stream);
}
int close_stream(mongoc_stream_t* stream) {
  return mongoc_stream_close(waiting(stream)->base);
}
int flush(mongoc_stream_t* stream) {
  return mongoc_stream_flush(waiting(stream)->base);
}
ssize_t writev(mongoc_stream_t* stream, mongoc_iovec_t* pieces, size_t count, int32_t timeout_ms) {
  return mongoc_stream_writev(waiting(stream)->base, pieces, count, timeout_ms);
}

// Reads `min_bytes` at least, or as much as there is. The socket's own stream would lose what it had read when its time is up.
ssize_t readv(mongoc_stream_t* stream, mongoc_iovec_t* pieces, size_t count, size_t min_bytes, int32_t timeout_ms) {
  Waiting& self = *waiting(stream);
  self.nothing_yet = false;
  const int64_t end_ms = timeout_ms < 0 ? INT64_MAX : bson_get_monotonic_time() / 1000 + timeout_ms;
  size_t read = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t at = 0; at < pieces[i].iov_len;) {
      if (read > 0 && read >= min_bytes) return static_cast<ssize_t>(read);
      if (!self.asked->goes_on()) {
        errno = ETIMEDOUT;
        return -1;
      }
      const int64_t left_ms = std::max<int64_t>(0, end_ms - bson_get_monotonic_time() / 1000);
      mongoc_stream_poll_t one{.stream = self.base, .events = POLLIN, .revents = 0};
      const ssize_t ready = mongoc_stream_poll(&one, 1, static_cast<int32_t>(std::min<int64_t>(left_ms, slice_ms)));
      if (ready < 0) return -1;
      if (ready == 0 && left_ms > 0) continue;
      if (ready == 0) {
        self.nothing_yet = timeout_ms == 0;
        errno = self.nothing_yet ? EAGAIN : ETIMEDOUT;
        return read > 0 && min_bytes == 0 ? static_cast<ssize_t>(read) : -1;
      }
      const ssize_t some = mongoc_stream_read(self.base, static_cast<char*>(pieces[i].iov_base) + at, pieces[i].iov_len - at, 0,
                                              static_cast<int32_t>(slice_ms));
      if (some <= 0) return read > 0 ? static_cast<ssize_t>(read) : some;
      read += static_cast<size_t>(some);
      at += static_cast<size_t>(some);
    }
  }
  return static_cast<ssize_t>(read);
}

int set_option(mongoc_stream_t* stream, int level, int name, void* value, mongoc_socklen_t length) {
  return mongoc_stream_setsockopt(waiting(stream)->base, level, name, value, length);
}
// The library waits here while it greets a server. All streams are of this kind.
ssize_t poll_streams(mongoc_stream_poll_t* streams, size_t count, int32_t timeout_ms) {
  std::vector<mongoc_stream_poll_t> bases;
  for (size_t i = 0; i < count; ++i)
    bases.push_back({.stream = waiting(streams[i].stream)->base, .events = streams[i].events, .revents = 0});
  const int64_t end_ms = timeout_ms < 0 ? INT64_MAX : bson_get_monotonic_time() / 1000 + timeout_ms;
  for (;;) {
    if (count > 0 && !waiting(streams[0].stream)->asked->goes_on()) {
      for (size_t i = 0; i < count; ++i) streams[i].revents = POLLERR;
      return static_cast<ssize_t>(count);
    }
    const int64_t left_ms = std::max<int64_t>(0, end_ms - bson_get_monotonic_time() / 1000);
    const ssize_t ready = mongoc_stream_poll(bases.data(), count, static_cast<int32_t>(std::min<int64_t>(left_ms, slice_ms)));
    if (ready == 0 && left_ms > slice_ms) continue;
    for (size_t i = 0; i < count; ++i) streams[i].revents = bases[i].revents;
    return ready;
  }
}
bool closed(mongoc_stream_t* stream) {
  return mongoc_stream_check_closed(waiting(stream)->base);
}
bool timed_out(mongoc_stream_t* stream) {
  return mongoc_stream_timed_out(waiting(stream)->base);
}
bool should_retry(mongoc_stream_t* stream) {
  return waiting(stream)->nothing_yet;
}

mongoc_stream_t* wait_in_slices(mongoc_stream_t* base, Asked* asked) {
  constexpr int own_type = 100;  // the library's own are below
  auto* const made = static_cast<Waiting*>(bson_malloc0(sizeof(Waiting)));
  made->stream.type = own_type;
  made->stream.destroy = destroy;
  made->stream.failed = failed;
  made->stream.close = close_stream;
  made->stream.flush = flush;
  made->stream.writev = writev;
  made->stream.readv = readv;
  made->stream.setsockopt = set_option;
  made->stream.poll = poll_streams;
  made->stream.check_closed = closed;
  made->stream.timed_out = timed_out;
  made->stream.should_retry = should_retry;
  made->base = base;
  made->asked = asked;
  return &made->stream;
}

mongoc_socket_t* connected(const addrinfo& address, Asked& asked) {
  mongoc_socket_t* const socket = mongoc_socket_new(address.ai_family, address.ai_socktype, address.ai_protocol);
  if (!socket) return nullptr;
  if (mongoc_socket_connect(socket, address.ai_addr, static_cast<mongoc_socklen_t>(address.ai_addrlen), 0) == 0) return socket;
  const int64_t end_ms = bson_get_monotonic_time() / 1000 + connect_ms;
  while (asked.goes_on() && bson_get_monotonic_time() / 1000 < end_ms) {
    mongoc_socket_poll_t one{.socket = socket, .events = POLLOUT, .revents = 0};
    const ssize_t ready = mongoc_socket_poll(&one, 1, slice_ms);
    if (ready < 0 || (one.revents & (POLLERR | POLLHUP | POLLNVAL))) break;
    if (ready > 0 && (one.revents & POLLOUT)) return socket;
  }
  mongoc_socket_destroy(socket);
  return nullptr;
}

mongoc_stream_t* connect_to(const mongoc_host_list_t& host, Asked& asked) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.host, std::to_string(host.port).c_str(), &wanted, &found) != 0) return nullptr;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  for (const addrinfo* one = found; one; one = one->ai_next) {
    if (mongoc_socket_t* const socket = connected(*one, asked)) return mongoc_stream_socket_new(socket);
  }
  return nullptr;
}

const char* text_option(const mongoc_uri_t* uri, const char* name) {
  return mongoc_uri_get_option_as_utf8(uri, name, nullptr);
}

mongoc_stream_t* encrypted(const mongoc_uri_t* uri, const char* host, mongoc_stream_t* stream, bson_error_t* error) {
  mongoc_ssl_opt_t options = *mongoc_ssl_opt_get_default();
  options.ca_file = text_option(uri, MONGOC_URI_TLSCAFILE);
  options.pem_file = text_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE);
  options.pem_pwd = text_option(uri, MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD);
  const bool insecure = mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSINSECURE, false);
  options.weak_cert_validation = insecure || mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSALLOWINVALIDCERTIFICATES, false);
  options.allow_invalid_hostname = insecure || mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSALLOWINVALIDHOSTNAMES, false);
  mongoc_stream_t* const tls = mongoc_stream_tls_new_with_hostname(stream, host, &options, 1);
  if (!tls) {
    mongoc_stream_destroy(stream);
    return nullptr;
  }
  if (mongoc_stream_tls_handshake_block(tls, host, connect_ms, error)) return tls;
  mongoc_stream_destroy(tls);
  return nullptr;
}

mongoc_stream_t* open_stream(const mongoc_uri_t* uri, const mongoc_host_list_t* host, void* data, bson_error_t* error) {
  Asked& asked = *static_cast<Asked*>(data);
  mongoc_stream_t* stream = connect_to(*host, asked);
  if (!stream) {
    bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT, "cannot connect to %s", host->host_and_port);
    return nullptr;
  }
  stream = wait_in_slices(stream, &asked);
  if (mongoc_uri_get_tls(uri)) {
    stream = encrypted(uri, host->host, stream, error);
    if (!stream) {
      if (error->code == 0)
        bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, "no TLS with %s", host->host_and_port);
      return nullptr;
    }
  }
  return mongoc_stream_buffered_new(stream, 64 << 10);
}

}  // namespace

RemoteUri RemoteUri::parse(std::string_view text) {
  const Uri uri = parsed(std::string(text));
  const char* const database = mongoc_uri_get_database(uri.get());
  if (!database || !*database)
    throw OperationError(ErrorCode::bad_value, "the URI of a remote names its database: mongodb://host/shop");
  return {std::string(text), database, shown_text(uri.get()), uses_the_server(uri.get())};
}

class RemoteServer::Connection {
 public:
  Connection(OperationContext& op, const std::string& text) : asked_{op} {
    const Uri uri = parsed(text);
    mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS, connect_ms);
    mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, answer_ms);
    mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, connect_ms);
    mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_RETRYWRITES, false);
    mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_RETRYREADS, false);
    client_ = mongoc_client_new_from_uri(uri.get());
    if (!client_)
      throw OperationError(ErrorCode::bad_value, "the URI of the remote asks for something that this server can't do");
    mongoc_client_set_error_api(client_, MONGOC_ERROR_API_VERSION_2);
    mongoc_client_set_appname(client_, "palimpsest remotes");
    mongoc_client_set_stream_initiator(client_, open_stream, &asked_);
  }
  ~Connection() { mongoc_client_destroy(client_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bson::Document run(const std::string& database, const bson::Document& command) {
    asked_.op.check_interrupt();
    bson_t borrowed;
    const base::BytesView bytes = command.bytes();
    base::check(bson_init_static(&borrowed, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), "a document is BSON");
    bson_t reply;
    bson_error_t error{};
    const bool ok = mongoc_client_command_simple(client_, database.c_str(), &borrowed, nullptr, &reply, &error);
    bson::Document copied(base::Bytes(reinterpret_cast<const char*>(bson_get_data(&reply)), reply.len));
    bson_destroy(&reply);
    if (asked_.stopped) std::rethrow_exception(asked_.stopped);
    if (!bson::validate(copied.bytes(), {.bytes_max = reply_bytes_max}).ok())
      throw OperationError(ErrorCode::protocol_error, "the remote: the reply isn't valid BSON");
    if (ok) return copied;
    asked_.op.check_interrupt();
    const bool answered = error.domain == MONGOC_ERROR_SERVER;
    const bool login = error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE;
    throw OperationError(answered ? static_cast<ErrorCode>(error.code)
                         : login  ? ErrorCode::authentication_failed
                                  : ErrorCode::host_unreachable,
                         "the remote: " + std::string(error.message));
  }

 private:
  Asked asked_;
  mongoc_client_t* client_ = nullptr;
};

RemoteServer::RemoteServer(OperationContext& op, const RemoteUri& uri)
    : connection_(std::make_unique<Connection>(op, uri.text)), database_(uri.database) {}

RemoteServer::~RemoteServer() = default;

bson::Document RemoteServer::run(const bson::Document& command) {
  return connection_->run(database_, command);
}

}  // namespace server
