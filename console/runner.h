// The runner runs commands on the server, or on the members of its set, and keeps the cursors that they open.
//
// A cursor belongs to the session and to the member that opened it, so the runner keeps its connection until it is read to its
// end, is closed, or nobody asked for ten minutes. Whoever asks gets a random handle in place of its number.
//
// All functions may be called by several threads. None throws but the constructor: what a server refuses and what the way to it
// fails with are replies with `ok: 0`, `code`, `codeName` and `errmsg`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bson/document.h"

namespace console {

struct Target {
  bool primary = false;  // else the member that the connection string's read preference chooses
  std::string member;    // "host:port" of one member; empty: chosen as above
};

class Runner {
 public:
  // Throws std::runtime_error where the connection string is none. Nothing is connected yet.
  explicit Runner(const std::string& uri);
  ~Runner();
  Runner(const Runner&) = delete;

  // `cursor.id` of the reply is a handle (a string) for next() and close(), and "" where there is nothing more.
  bson::Document run(const std::string& db, bson::DocumentView command, const Target& target);
  // Returns the next batch of at most `documents`, in a reply as getMore's.
  bson::Document next(std::string_view handle, int64_t documents);
  // Closes the cursor. Does nothing where there is no such handle.
  void close(std::string_view handle);

  // Returns the hosts of the connection string, without user and password.
  std::string hosts() const;
  // The database of the connection string; empty where it names none.
  std::string database() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

// Returns a reply that says why there is none.
bson::Document failed_reply(int32_t code, std::string_view code_name, std::string_view message);

}  // namespace console
