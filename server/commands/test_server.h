// Tests use a server without sockets, on a directory that is removed at the end.
#pragma once

#include <memory>
#include <string>

#include "bson/document.h"
#include "server/assembly/assembly.h"
#include "storage/testing/temporary_store.h"

namespace server {

// run() may be called from many threads.
class TestServer {
 public:
  TestServer();                                  // has a directory of its own
  explicit TestServer(const std::string& path);  // uses an existing directory
  struct SetOfOne {};
  explicit TestServer(SetOfOne);  // is the primary of a replica set that has no other member

  bson::Document run(bson::DocumentView command) { return assembly_->run("test", command); }
  bson::Document run(const std::string& db, bson::DocumentView command) { return assembly_->run(db, command); }

  // Checks that the reply has these fields, and so do documents in it; a list has exactly these elements.
  void expect(const std::string& command, const std::string& reply) { expect("test", command, reply); }
  void expect(const std::string& db, const std::string& command, const std::string& reply);
  void expect(const bson::Document& command, const std::string& reply);

  // Returns the first batch of a command that opens a cursor, as the shell shows it.
  std::string documents(const std::string& command);

  Services& services() { return assembly_->services(); }
  const storage::TemporaryDirectory& directory() const { return *directory_; }

 private:
  std::unique_ptr<storage::TemporaryDirectory> directory_;
  std::unique_ptr<Assembly> assembly_;
};

}  // namespace server
