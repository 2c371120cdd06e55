// libmongoc with destructors: a connection that speaks bson::Document.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bson/document.h"

struct _mongoc_client_t;

namespace datasets::replay {

// What the server, or the way to it, answered.
class ClientError : public std::runtime_error {
 public:
  ClientError(const std::string& message, uint32_t code) : std::runtime_error(message), code_(code) {}
  uint32_t code() const { return code_; }

 private:
  uint32_t code_;
};

// One document's failure in a batch.
struct WriteFailure {
  size_t index;
  int32_t code;
  std::string message;
};

// Used by one thread at a time. Every call throws ClientError where the
// connection fails or the server refuses the whole command.
class Client {
 public:
  explicit Client(const std::string& uri);
  ~Client();
  Client(const Client&) = delete;

  // The reply of an `ok: 1` command.
  bson::Document command(const std::string& db, const bson::Document& command);
  // nullopt where the server does not have the command, or does not have what it asks for.
  std::optional<bson::Document> try_command(const std::string& db, const bson::Document& command);

  // Unordered: one document's failure does not keep the others back.
  std::vector<WriteFailure> insert(const std::string& db, const std::string& collection,
                                   const std::vector<bson::DocumentView>& documents);
  // False where nothing has that _id.
  bool replace(const std::string& db, const std::string& collection, const bson::DocumentView& document);
  bool remove(const std::string& db, const std::string& collection, const bson::DocumentView& id);

  // Every document that matches; the visitor's view is valid during the call.
  // Returns how many there were.
  using Visitor = std::function<void(bson::DocumentView)>;
  uint64_t find(const std::string& db, const std::string& collection, const bson::Document& filter, const bson::Document& options,
                const Visitor& visit);

  // Waits until the server answers `ping`; false after the timeout.
  bool wait_until_up(double seconds);

 private:
  _mongoc_client_t* client_;
};

}  // namespace datasets::replay
