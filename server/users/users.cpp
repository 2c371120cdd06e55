#include "server/users/users.h"

#include <algorithm>
#include <shared_mutex>

#include "base/error.h"
#include "base/host_port.h"
#include "base/log.h"
#include "bson/value.h"
#include "server/core/client.h"
#include "storage/collections/catalog.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace server::users {
namespace {

constexpr size_t known_max = 10'000;

// `visit` returns whether to go on.
void read_all(storage::Store& store, const std::string& ns, const std::function<bool(bson::DocumentView)>& visit) {
  const auto collection = store.catalog().open(ns);
  if (!collection) return;
  const std::shared_lock schema(collection->schema_mutex());
  storage::Transaction transaction(store, storage::Transaction::Mode::read);
  const auto scan = collection->scan(transaction, storage::Direction::forward);
  while (scan->next()) {
    if (!visit(scan->document())) return;
  }
}

std::string address_of(const std::string& host_and_port) {
  const auto parsed = base::parse_host_port(host_and_port);
  return parsed ? parsed->host : std::string();
}

bool all_allow(const std::vector<access::Restrictions>& restrictions, const Client& client) {
  if (restrictions.empty()) return true;
  const std::string from = remote_address(client), to = address_of(client.local());
  return std::all_of(restrictions.begin(), restrictions.end(),
                     [&](const access::Restrictions& one) { return one.allow(from, to); });
}

}  // namespace

std::string remote_address(const Client& client) {
  return client.is_unix_socket() ? "unix" : address_of(client.remote());
}

std::optional<bson::Document> Users::user_document(const Name& name) const {
  return document(users_ns, principal_id(name));
}
std::optional<bson::Document> Users::role_document(const Name& name) const {
  return document(roles_ns, principal_id(name));
}
std::vector<bson::Document> Users::user_documents() const {
  return documents(users_ns);
}
std::vector<bson::Document> Users::role_documents() const {
  return documents(roles_ns);
}

std::optional<bson::Document> Users::document(const std::string& ns, const std::string& id) const {
  return storage::find_document(store_, ns, bson::Value(id));
}
void Users::each(const std::string& ns, const std::function<bool(bson::DocumentView)>& visit) const {
  read_all(store_, ns, visit);
}
std::vector<bson::Document> Users::documents(const std::string& ns) const {
  std::vector<bson::Document> out;
  read_all(store_, ns, [&](bson::DocumentView document) { return out.emplace_back(document), true; });
  const auto id = [](const bson::Document& one) {
    const auto value = one.view()["_id"];
    return value.is_string() ? value.as_string() : std::string_view();
  };
  std::sort(out.begin(), out.end(), [&](const bson::Document& a, const bson::Document& b) { return id(a) < id(b); });
  return out;
}

std::optional<User> Users::find(const Name& name) const {
  const auto document = user_document(name);
  return document ? std::optional(read_user(*document)) : std::nullopt;
}

bool Users::role_exists(const Name& name) const {
  return access::is_builtin_role(name) || role_document(name).has_value();
}

ResolvedRoles Users::resolve(const std::vector<Name>& roles) const {
  ResolvedRoles out;
  std::vector<Name> open = roles;
  while (!open.empty()) {
    const Name name = std::move(open.back());
    open.pop_back();
    if (out.roles.contains(name)) continue;
    if (const auto builtin = access::builtin_role(name)) {
      out.roles.insert(name);
      out.privileges.add(*builtin);
      continue;
    }
    const auto document = role_document(name);
    if (!document) continue;
    Role role = read_role(*document);
    out.roles.insert(name);
    out.privileges.add(role.privileges);
    if (!role.restrictions.empty()) out.restrictions.push_back(std::move(role.restrictions));
    open.insert(open.end(), role.roles.begin(), role.roles.end());
  }
  return out;
}

bool Users::any() const {
  const uint64_t now = generation();
  {
    const base::MutexLock lock(mutex_);
    if (any_ && any_->first == now) return any_->second;
  }
  bool found = false;
  read_all(store_, users_ns, [&](bson::DocumentView) { return found = true, false; });
  const base::MutexLock lock(mutex_);
  any_ = {now, found};
  return found;
}

access::AuthorityPtr Users::authority(const Name& name, const Client& client) const {
  const uint64_t now = generation();
  {
    const base::MutexLock lock(mutex_);
    const auto known = known_.find(name);
    if (known != known_.end() && known->second.generation == now)
      return all_allow(known->second.restrictions, client) ? known->second.authority : nullptr;
  }
  Known fresh{now, nullptr, {}};
  if (const auto user = find(name)) {
    ResolvedRoles resolved = resolve(user->roles);
    auto made = std::make_shared<access::Authority>();
    made->user = name;
    made->user_id = user->id;
    made->digest = access::digest_of(name);
    made->roles = std::move(resolved.roles);
    made->privileges = std::move(resolved.privileges);
    fresh.restrictions = std::move(resolved.restrictions);
    if (!user->restrictions.empty()) fresh.restrictions.push_back(user->restrictions);
    fresh.authority = std::move(made);
  }
  const access::AuthorityPtr found = all_allow(fresh.restrictions, client) ? fresh.authority : nullptr;
  const base::MutexLock lock(mutex_);
  if (known_.size() >= known_max) known_.clear();
  if (fresh.authority)
    known_.insert_or_assign(name, std::move(fresh));
  else
    known_.erase(name);
  return found;
}

}  // namespace server::users
