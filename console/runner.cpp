#include "console/runner.h"

#include <mongoc/mongoc.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "bson/builder.h"
#include "bson/validate.h"
#include "console/members.h"

namespace console {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t open_cursors_max = 32;
constexpr int32_t patience_ms = 5000;
constexpr std::chrono::minutes idle_max{10};
constexpr size_t reply_bytes_max = 48 << 20;  // what a server may send at most in one message

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* one) const { destroy(one); }
};
using Uri = std::unique_ptr<mongoc_uri_t, Destroy<mongoc_uri_t, mongoc_uri_destroy>>;
using Pool = std::unique_ptr<mongoc_client_pool_t, Destroy<mongoc_client_pool_t, mongoc_client_pool_destroy>>;
using Session = std::unique_ptr<mongoc_client_session_t, Destroy<mongoc_client_session_t, mongoc_client_session_destroy>>;
using Preference = std::unique_ptr<mongoc_read_prefs_t, Destroy<mongoc_read_prefs_t, mongoc_read_prefs_destroy>>;

// Goes back to the pool.
class Client {
 public:
  explicit Client(mongoc_client_pool_t* pool) : pool_(pool), client_(mongoc_client_pool_pop(pool)) {}
  ~Client() {
    if (client_) mongoc_client_pool_push(pool_, client_);
  }
  Client(Client&& other) noexcept : pool_(other.pool_), client_(std::exchange(other.client_, nullptr)) {}
  mongoc_client_t* get() const { return client_; }

 private:
  mongoc_client_pool_t* pool_;
  mongoc_client_t* client_;
};

struct Reply {
  Reply() { bson_init(&bson); }
  ~Reply() { bson_destroy(&bson); }
  bson_t bson;
};

bson::Document failed_by(const bson_error_t& error) {
  using base::ErrorCode;
  const bool server_sent_it = error.domain == MONGOC_ERROR_SERVER;
  if (server_sent_it) return failed_reply(static_cast<int32_t>(error.code), "", error.message);
  const bool login = error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE;
  const ErrorCode code = login ? ErrorCode::authentication_failed : ErrorCode::host_unreachable;
  return failed_reply(static_cast<int32_t>(code), base::code_name(code), error.message);
}

// A command runs with these: a connection, a session where the server has sessions, and one member.
struct Way {
  Client client;
  Session session;  // before the client goes back
  uint32_t server = 0;
  bool secondary = false;
};

bson::Document reply_of(const bson_t& raw, const bson_error_t* error) {
  const bson::BytesView bytes(reinterpret_cast<const char*>(bson_get_data(&raw)), raw.len);
  const auto valid = bson::validate(bytes, {.bytes_max = reply_bytes_max});
  // The library's own errors come with a reply that says nothing, or only has labels.
  if (error && (!valid.ok() || !valid.value().has("code"))) return failed_by(*error);
  if (!valid.ok()) return failed_reply(22, "InvalidBSON", "the server's reply is damaged: " + valid.failure().message);
  bson::Builder reply;
  for (const bson::Element& field : valid.value())
    if (field.name != "$clusterTime" && field.name != "operationTime") reply.append_element(field);
  return reply.done();
}

bson::Document run_on(const Way& way, const std::string& db, bson::DocumentView command) {
  bson_t borrowed;
  if (!bson_init_static(&borrowed, base::as_u8(command.bytes()), command.size()))
    return failed_reply(22, "InvalidBSON", "the command is no document");
  bson_t options = BSON_INITIALIZER;
  bson_error_t error = {};
  BSON_APPEND_INT32(&options, "serverId", static_cast<int32_t>(way.server));
  if (way.session && !mongoc_client_session_append(way.session.get(), &options, &error)) {
    bson_destroy(&options);
    return failed_by(error);
  }
  const Preference preference(mongoc_read_prefs_new(way.secondary ? MONGOC_READ_SECONDARY_PREFERRED : MONGOC_READ_PRIMARY));
  Reply reply;
  const bool ok =
      mongoc_client_command_with_opts(way.client.get(), db.c_str(), &borrowed, preference.get(), &options, &reply.bson, &error);
  bson_destroy(&options);
  return reply_of(reply.bson, ok ? nullptr : &error);
}

// Returns the reply with another cursor id in it.
bson::Document with_handle(bson::DocumentView reply, const std::string& handle) {
  bson::Builder out;
  for (const bson::Element& field : reply) {
    if (field.name != "cursor") {
      out.append_element(field);
      continue;
    }
    bson::Builder cursor = out.object("cursor");
    for (const bson::Element& part : field.as_document()) {
      if (part.name == "id")
        cursor.append("id", handle);
      else
        cursor.append_element(part);
    }
  }
  return out.done();
}

int64_t cursor_id(bson::DocumentView reply) {
  const bson::Element cursor = reply["cursor"];
  return cursor.is_object() ? cursor.as_document()["id"].to_int64() : 0;
}

struct OpenCursor {
  Way way;
  std::string db, collection;
  int64_t id;
  Clock::time_point used = Clock::now();
};

void kill(const OpenCursor& cursor) {
  bson::Builder command;
  command.append("killCursors", cursor.collection);
  command.array("cursors").append(cursor.id);
  run_on(cursor.way, cursor.db, command.done());
}

}  // namespace

bson::Document failed_reply(int32_t code, std::string_view code_name, std::string_view message) {
  bson::Builder reply;
  reply.append("ok", 0.0).append("errmsg", message).append("code", code);
  if (!code_name.empty()) reply.append("codeName", code_name);
  return reply.done();
}

struct Runner::Library {
  explicit Library(const std::string& text) {
    static const bool once = [] {
      mongoc_init();
      mongoc_log_set_handler(nullptr, nullptr);
      return true;
    }();
    (void)once;
    bson_error_t error;
    uri.reset(mongoc_uri_new_with_error(text.c_str(), &error));
    if (!uri) throw std::runtime_error("the connection string: " + std::string(error.message));
    // Whoever waits in front of a page wants to know soon that nobody answers.
    if (!mongoc_uri_has_option(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS))
      mongoc_uri_set_option_as_int32(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, patience_ms);
    patience =
        std::chrono::milliseconds(mongoc_uri_get_option_as_int32(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, patience_ms));
    pool.reset(mongoc_client_pool_new(uri.get()));
    if (!pool) throw std::runtime_error("the connection string asks for something that this client can't do");
    mongoc_client_pool_set_error_api(pool.get(), MONGOC_ERROR_API_VERSION_2);
    mongoc_client_pool_set_appname(pool.get(), "palimpsest console");
  }
  ~Library() {
    for (const auto& [handle, cursor] : cursors) kill(cursor);
  }

  // Chooses a member and opens a session there; where that fails, returns why.
  std::optional<Way> way(const Target& target, bson::Document& failure) {
    Way found{Client(pool.get()), nullptr};
    mongoc_client_t* client = found.client.get();
    bson_error_t error = {};
    Member member;
    if (target.member.empty()) {
      const mongoc_read_prefs_t* preference = target.primary ? nullptr : mongoc_uri_get_read_prefs_t(uri.get());
      member.reset(mongoc_client_select_server(client, target.primary, preference, &error));
      if (!member) {
        failure = failed_by(error);
        return std::nullopt;
      }
    } else {
      base::Result<Member> named = wait_for_member(client, target.member, patience);
      if (!named.ok()) {
        const base::Failure& why = named.failure();
        failure = failed_reply(static_cast<int32_t>(why.code), base::code_name(why.code), why.message);
        return std::nullopt;
      }
      member = std::move(named).value();
    }
    found.server = mongoc_server_description_id(member.get());
    found.secondary = std::string_view(mongoc_server_description_type(member.get())) == "RSSecondary";
    // A server without sessions has cursors all the same.
    found.session.reset(mongoc_client_start_session(client, nullptr, &error));
    return found;
  }

  // Keeps the cursor; returns its handle. What is too much or too old is closed.
  std::string keep(OpenCursor cursor) {
    base::Bytes random;
    base::append_le(random, base::entropy64());
    base::append_le(random, base::entropy64());
    std::string handle = base::to_hex(random);
    std::map<std::string, OpenCursor>::node_type oldest;
    {
      const std::lock_guard lock(mutex);
      if (cursors.size() >= open_cursors_max) {
        auto least = cursors.begin();
        for (auto it = cursors.begin(); it != cursors.end(); ++it)
          if (it->second.used < least->second.used) least = it;
        oldest = cursors.extract(least);
      }
      cursors.emplace(handle, std::move(cursor));
    }
    if (oldest) kill(oldest.mapped());
    close_idle();
    return handle;
  }

  void close_idle() {
    for (;;) {
      std::map<std::string, OpenCursor>::node_type idle;
      {
        const std::lock_guard lock(mutex);
        for (auto it = cursors.begin(); it != cursors.end() && !idle; ++it)
          if (Clock::now() - it->second.used > idle_max) {
            idle = cursors.extract(it);
            break;
          }
      }
      if (!idle) return;
      kill(idle.mapped());
    }
  }

  // While one request reads from a cursor, no other finds it.
  std::optional<OpenCursor> take(std::string_view handle) {
    const std::lock_guard lock(mutex);
    const auto found = cursors.find(std::string(handle));
    if (found == cursors.end()) return std::nullopt;
    return std::move(cursors.extract(found).mapped());
  }

  Uri uri;
  std::chrono::milliseconds patience{};  // how long a member may take that hasn't answered yet
  Pool pool;
  std::mutex mutex;
  std::map<std::string, OpenCursor> cursors;
};

Runner::Runner(const std::string& uri) : library_(std::make_unique<Library>(uri)) {}
Runner::~Runner() = default;

bson::Document Runner::run(const std::string& db, bson::DocumentView command, const Target& target) {
  library_->close_idle();
  bson::Document failure;
  std::optional<Way> way = library_->way(target, failure);
  if (!way) return failure;
  bson::Document reply = run_on(*way, db, command);
  const bson::Element cursor = reply["cursor"];
  if (!cursor.is_object()) return reply;
  const int64_t id = cursor_id(reply);
  if (id == 0) return with_handle(reply, "");
  const bson::Element ns = cursor.as_document()["ns"];
  const std::string_view name = ns.is_string() ? ns.as_string() : std::string_view();
  const size_t dot = name.find('.');
  if (dot == name.npos) return failed_reply(1, "InternalError", "the server's cursor names no collection");
  OpenCursor open{std::move(*way), std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)), id};
  return with_handle(reply, library_->keep(std::move(open)));
}

bson::Document Runner::next(std::string_view handle, int64_t documents) {
  std::optional<OpenCursor> cursor = library_->take(handle);
  if (!cursor) return failed_reply(43, "CursorNotFound", "the console has closed this cursor; ask anew");
  bson::Builder command;
  command.append("getMore", cursor->id).append("collection", cursor->collection).append("batchSize", documents);
  const bson::Document reply = run_on(cursor->way, cursor->db, command.done());
  if (cursor_id(reply) == 0) return with_handle(reply, "");
  cursor->used = Clock::now();
  {
    const std::lock_guard lock(library_->mutex);
    library_->cursors.emplace(std::string(handle), std::move(*cursor));
  }
  return with_handle(reply, std::string(handle));
}

void Runner::close(std::string_view handle) {
  if (const std::optional<OpenCursor> cursor = library_->take(handle)) kill(*cursor);
}

std::string Runner::hosts() const {
  std::string all;
  for (const mongoc_host_list_t* host = mongoc_uri_get_hosts(library_->uri.get()); host; host = host->next)
    all += (all.empty() ? "" : ",") + std::string(host->host_and_port);
  return all;
}

std::string Runner::database() const {
  const char* name = mongoc_uri_get_database(library_->uri.get());
  return name ? name : "";
}

}  // namespace console
