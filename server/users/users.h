// Users reads users and roles, and says what each user may do.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/mutex.h"
#include "server/access/authority.h"
#include "server/users/principals.h"

namespace storage {
class Store;
}

namespace server {
class Client;
}

namespace server::users {

// Returns the client's address without its port; "unix" for a socket of this machine.
std::string remote_address(const Client& client);

// A list of roles is resolved to these: the roles themselves and all that they inherit.
struct ResolvedRoles {
  std::set<Name> roles;
  access::Privileges privileges;
  std::vector<access::Restrictions> restrictions;
};

// This class is thread-safe.
class Users {
 public:
  explicit Users(storage::Store& store) : store_(store) {}

  // These return documents as they are stored; nullopt: there is none.
  std::optional<bson::Document> user_document(const Name& name) const;
  std::optional<bson::Document> role_document(const Name& name) const;
  std::vector<bson::Document> user_documents() const;
  std::vector<bson::Document> role_documents() const;
  // These are for any collection whose _ids are texts.
  std::optional<bson::Document> document(const std::string& ns, const std::string& id) const;
  std::vector<bson::Document> documents(const std::string& ns) const;  // in the order of their _ids
  // `visit` gets each document in turn, and returns whether to go on.
  void each(const std::string& ns, const std::function<bool(bson::DocumentView)>& visit) const;
  // Throws UnsupportedFormat for a document that isn't sound.
  std::optional<User> find(const Name& name) const;
  bool role_exists(const Name& name) const;
  // A role that doesn't exist gives nothing.
  ResolvedRoles resolve(const std::vector<Name>& roles) const;
  // Returns whether somebody could log in.
  bool any() const;

  // Returns what the user may do who comes from this client; nullptr: there is no such user, or not from there.
  access::AuthorityPtr authority(const Name& name, const Client& client) const;

  // Everything that was read is out of date. Any thread may call it.
  void changed() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Known {
    uint64_t generation;
    access::AuthorityPtr authority;
    std::vector<access::Restrictions> restrictions;
  };

  storage::Store& store_;
  std::atomic<uint64_t> generation_{1};
  mutable base::Mutex mutex_;
  mutable std::map<Name, Known> known_ GUARDED_BY(mutex_);
  mutable std::optional<std::pair<uint64_t, bool>> any_ GUARDED_BY(mutex_);
};

}  // namespace server::users
