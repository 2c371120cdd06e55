// This part of the server knows users and lets them log in.
#pragma once

#include "server/users/login.h"

namespace replication {
class Oplog;
}

namespace server {

struct Services;

// Reads the secrets that members share. Throws OperationError if the key file isn't sound.
std::vector<std::string> member_keys(const Options& options);
// Appends serverStatus' security.authentication.
void append_logins(const users::Logins& logins, bson::Builder& out);

// Lends the logins to `services`, and adds their parameters. It lives as long as `oplog`.
class AccessPart {
 public:
  AccessPart(const Options& options, Services& services, storage::Store& store, replication::Oplog& oplog);
  ~AccessPart();

 private:
  replication::Oplog& oplog_;
  users::Users users_;
  users::Logins logins_;
};

}  // namespace server
