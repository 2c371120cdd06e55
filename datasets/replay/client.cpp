#include "datasets/replay/client.h"

#include <mongoc/mongoc.h>

#include <chrono>
#include <thread>

#include "bson/builder.h"

namespace datasets::replay {
namespace {

// These wrap borrowed bytes in the library's own types.
struct Borrowed {
  explicit Borrowed(bson::BytesView bytes) {
    if (!bson_init_static(&bson, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()))
      throw ClientError("the bytes are not a document", 22);
  }
  bson_t bson;
};

struct Reply {
  Reply() { bson_init(&bson); }
  ~Reply() { bson_destroy(&bson); }
  bson::DocumentView view() const { return bson::DocumentView({reinterpret_cast<const char*>(bson_get_data(&bson)), bson.len}); }
  bson_t bson;
};

using Collection = std::unique_ptr<mongoc_collection_t, decltype(&mongoc_collection_destroy)>;
using Cursor = std::unique_ptr<mongoc_cursor_t, decltype(&mongoc_cursor_destroy)>;

Collection open(mongoc_client_t* client, const std::string& db, const std::string& collection) {
  return {mongoc_client_get_collection(client, db.c_str(), collection.c_str()), mongoc_collection_destroy};
}

[[noreturn]] void fail(const bson_error_t& error) {
  throw ClientError(error.message, error.code);
}

void start_library() {
  static const bool once = [] {
    mongoc_init();
    mongoc_log_set_handler(nullptr, nullptr);
    return true;
  }();
  (void)once;
}

bson::Document id_of(bson::DocumentView document) {
  bson::Builder id;
  id.append("_id", static_cast<bson::ValueView>(document.find("_id")));
  return id.done();
}

// Visits what is left of a cursor.
uint64_t read_all(mongoc_cursor_t* cursor, const Client::Visitor& visit) {
  const bson_t* document = nullptr;
  uint64_t count = 0;
  while (mongoc_cursor_next(cursor, &document)) {
    ++count;
    visit(bson::DocumentView({reinterpret_cast<const char*>(bson_get_data(document)), document->len}));
  }
  bson_error_t error;
  if (mongoc_cursor_error(cursor, &error)) fail(error);
  return count;
}

}  // namespace

Client::Client(const std::string& uri, const std::string& application) {
  start_library();
  bson_error_t error;
  mongoc_uri_t* parsed = mongoc_uri_new_with_error(uri.c_str(), &error);
  if (!parsed) throw ClientError("the connection string: " + std::string(error.message), error.code);
  mongoc_uri_set_option_as_bool(parsed, MONGOC_URI_RETRYWRITES, false);
  client_ = mongoc_client_new_from_uri(parsed);
  mongoc_uri_destroy(parsed);
  if (!client_) throw ClientError("the connection string asks for something that this client can't do", 0);
  mongoc_client_set_error_api(client_, MONGOC_ERROR_API_VERSION_2);
  mongoc_client_set_appname(client_, application.c_str());
}

Client::~Client() {
  mongoc_client_destroy(client_);
}

bson::Document Client::command(const std::string& db, const bson::Document& command) {
  const Borrowed borrowed(command.bytes());
  Reply reply;
  bson_error_t error;
  if (!mongoc_client_command_simple(client_, db.c_str(), &borrowed.bson, nullptr, &reply.bson, &error)) fail(error);
  return bson::Document(reply.view());
}

std::optional<bson::Document> Client::try_command(const std::string& db, const bson::Document& command) {
  try {
    return this->command(db, command);
  } catch (const ClientError& refused) {
    constexpr uint32_t namespace_not_found = 26, command_not_found = 59, not_supported = 115;
    if (refused.code() == command_not_found || refused.code() == namespace_not_found || refused.code() == not_supported)
      return std::nullopt;
    throw;
  }
}

std::vector<WriteFailure> Client::insert(const std::string& db, const std::string& collection,
                                         const std::vector<bson::DocumentView>& documents) {
  const Collection target = open(client_, db, collection);
  std::vector<Borrowed> borrowed;
  borrowed.reserve(documents.size());
  const auto pointers = std::make_unique<const bson_t*[]>(documents.size());
  for (size_t i = 0; i < documents.size(); ++i) pointers[i] = &borrowed.emplace_back(documents[i].bytes()).bson;
  // Commands were built here, so the library need not validate them again.
  bson::Builder options;
  options.append("validate", false).append("ordered", false);
  const bson::Document option_document = options.done();
  const Borrowed option_bson(option_document.bytes());
  Reply reply;
  bson_error_t error;
  if (mongoc_collection_insert_many(target.get(), pointers.get(), documents.size(), &option_bson.bson, &reply.bson, &error))
    return {};
  std::vector<WriteFailure> failures;
  const bson::Element listed = reply.view().find("writeErrors");
  if (!listed.is_array() || listed.as_document().empty()) fail(error);
  for (const bson::Element& entry : listed.as_document()) {
    const bson::DocumentView failure = entry.as_document();
    const bson::Element message = failure["errmsg"];
    failures.push_back({static_cast<size_t>(failure["index"].to_int64()), static_cast<int32_t>(failure["code"].to_int64()),
                        message.is_string() ? std::string(message.as_string()) : std::string()});
  }
  return failures;
}

bool Client::replace(const std::string& db, const std::string& collection, const bson::DocumentView& document) {
  const Collection target = open(client_, db, collection);
  const bson::Document id = id_of(document);
  const Borrowed selector(id.bytes()), replacement(document.bytes());
  Reply reply;
  bson_error_t error;
  if (!mongoc_collection_replace_one(target.get(), &selector.bson, &replacement.bson, nullptr, &reply.bson, &error)) fail(error);
  return reply.view().find("matchedCount").to_int64() == 1;
}

bool Client::remove(const std::string& db, const std::string& collection, const bson::DocumentView& document) {
  const Collection target = open(client_, db, collection);
  const bson::Document id = id_of(document);
  const Borrowed selector(id.bytes());
  Reply reply;
  bson_error_t error;
  if (!mongoc_collection_delete_one(target.get(), &selector.bson, nullptr, &reply.bson, &error)) fail(error);
  return reply.view().find("deletedCount").to_int64() == 1;
}

uint64_t Client::find(const std::string& db, const std::string& collection, const bson::Document& filter,
                      const bson::Document& options, const Visitor& visit) {
  const Collection from = open(client_, db, collection);
  const Borrowed filter_bson(filter.bytes()), option_bson(options.bytes());
  const Cursor cursor{mongoc_collection_find_with_opts(from.get(), &filter_bson.bson, &option_bson.bson, nullptr),
                      mongoc_cursor_destroy};
  return read_all(cursor.get(), visit);
}

std::string Client::database() const {
  const char* name = mongoc_uri_get_database(mongoc_client_get_uri(client_));
  return name ? name : "";
}

uint64_t Client::run_cursor(const std::string& db, const bson::Document& command, const Visitor& visit) {
  const Borrowed borrowed(command.bytes());
  // The cursor takes the reply over, whatever happens.
  bson_t reply;
  bson_error_t error;
  if (!mongoc_client_command_simple(client_, db.c_str(), &borrowed.bson, nullptr, &reply, &error)) {
    bson_destroy(&reply);
    fail(error);
  }
  const Cursor cursor{mongoc_cursor_new_from_command_reply_with_opts(client_, &reply, nullptr), mongoc_cursor_destroy};
  return read_all(cursor.get(), visit);
}

bool Client::wait_until_up(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  bson::Builder ping;
  ping.append("ping", 1);
  const bson::Document document = ping.done();
  for (;;) {
    try {
      command("admin", document);
      return true;
    } catch (const ClientError&) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace datasets::replay
