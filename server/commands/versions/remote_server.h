// A RemoteServer is a connection to another server, by libmongoc. A URI says where it is, and how to log in.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bson/document.h"

namespace server {

class OperationContext;

// The parts of a remote's URI that the server looks at itself.
struct RemoteUri {
  std::string text;
  std::string database;  // behind the hosts: mongodb://host/shop
  std::string shown;     // without passwords, and without options that may be secret
  // A connection would use files of this server (tlsCertificateKeyFile), or what it is to other services (authMechanism GSSAPI).
  bool takes_from_server = false;

  // Throws BadValue for a URI that libmongoc refuses, or that names no database.
  static RemoteUri parse(std::string_view text);
};

// One operation uses it. What waits for the other server ends with the operation: killOp and maxTimeMS stop it.
class RemoteServer {
 public:
  // Connects with the first command.
  RemoteServer(OperationContext& op, const RemoteUri& uri);
  ~RemoteServer();
  RemoteServer(const RemoteServer&) = delete;
  RemoteServer& operator=(const RemoteServer&) = delete;

  // Throws the other server's error with its code, and HostUnreachable if it can't be reached or doesn't answer.
  bson::Document run(const bson::Document& command);
  const std::string& database() const { return database_; }

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
  std::string database_;
};

}  // namespace server
