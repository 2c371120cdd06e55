// Verbs that talk to a server share these: the options that name it, and the connection.
#pragma once

#include <functional>
#include <string>

#include "bson/builder.h"
#include "bson/document.h"
#include "datasets/replay/client.h"

namespace CLI {
class App;
}

namespace client {

// The options --uri, --db and --json.
struct Target {
  std::string uri = "mongodb://127.0.0.1:27017/";
  std::string db;  // wins over the one in the URI
  bool json = false;

  void add_options(CLI::App& verb, const std::string& about_db);
};

// One thread at a time may use it. Calls throw datasets::replay::ClientError if the server refuses or can't be reached.
class Connection {
 public:
  explicit Connection(const Target& target);

  // The database that the options name; empty if they name none.
  const std::string& db() const { return db_; }
  // Returns db(). Throws std::invalid_argument if there is none.
  const std::string& required_db() const;
  // Throws std::runtime_error if the server has no database of that name, for verbs to which it answered with nothing.
  void check_database(const std::string& name);

  bson::Document run(const std::string& db, const bson::Document& command) { return client_.command(db, command); }
  bson::Document run(const std::string& db, const std::string& command);  // a command with the argument 1
  // Runs a command that answers with a cursor, and visits every document of it; the view is valid during the call.
  void each(const std::string& db, const bson::Document& command, const std::function<void(bson::DocumentView)>& visit) {
    client_.run_cursor(db, command, visit);
  }

 private:
  datasets::replay::Client client_;
  std::string db_;
};

// Returns the field's text, or an empty one if it is missing or no string.
std::string text_of(const bson::Element& field);

}  // namespace client
