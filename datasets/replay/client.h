// A Client is a connection of libmongoc that speaks bson::Document and closes itself.
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

// The error that the server, or the way to it, answered with.
class ClientError : public std::runtime_error {
 public:
  ClientError(const std::string& message, uint32_t code) : std::runtime_error(message), code_(code) {}
  uint32_t code() const { return code_; }

 private:
  uint32_t code_;
};

// The failure of one document in a batch.
struct WriteFailure {
  size_t index;
  int32_t code;
  std::string message;
};

// One thread at a time may use it. Every call throws ClientError where the connection fails or the server refuses the whole
// command.
class Client {
 public:
  explicit Client(const std::string& uri, const std::string& application = "palimpsest replay");
  ~Client();
  Client(const Client&) = delete;

  // Returns the database that the connection string names; empty if it names none.
  std::string database() const;

  // Returns the reply, which has `ok: 1`.
  bson::Document command(const std::string& db, const bson::Document& command);
  // Returns nullopt where the server doesn't have the command, or what it asks for.
  std::optional<bson::Document> try_command(const std::string& db, const bson::Document& command);

  // The batch is unordered: one document's failure doesn't keep the others back.
  std::vector<WriteFailure> insert(const std::string& db, const std::string& collection,
                                   const std::vector<bson::DocumentView>& documents);
  // Returns false where no document has that _id.
  bool replace(const std::string& db, const std::string& collection, const bson::DocumentView& document);
  bool remove(const std::string& db, const std::string& collection, const bson::DocumentView& id);

  // Visits every document that matches; the view is valid during the call. Returns how many there
  // were.
  using Visitor = std::function<void(bson::DocumentView)>;
  uint64_t find(const std::string& db, const std::string& collection, const bson::Document& filter, const bson::Document& options,
                const Visitor& visit);

  // Runs a command that answers with a cursor, and visits every document of it. Returns how many there were.
  uint64_t run_cursor(const std::string& db, const bson::Document& command, const Visitor& visit);

  // Waits until the server answers `ping`; returns false after the timeout.
  bool wait_until_up(double seconds);

 private:
  _mongoc_client_t* client_;
};

}  // namespace datasets::replay
