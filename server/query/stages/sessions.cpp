// $listLocalSessions returns the sessions that this server has seen of late. So does $listSessions, which clients ask of
// config.system.sessions: the server keeps its sessions in memory, and no collection has more of them.
#include <algorithm>

#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {
namespace {

class ListSessions final : public PlainSpec {
 public:
  ListSessions(const bson::Element& specification, bool all, std::vector<bson::Bytes> users)
      : PlainSpec(specification.name, specification), all_(all), users_(std::move(users)) {}
  bool is_source() const override { return true; }
  bool in_facet() const override { return false; }

  StagePtr start(StagePtr, PipelineContext& context) const override {
    std::vector<bson::Document> documents;
    // The key ends with the digest of the session's user.
    const access::AuthorityPtr authority = context.op->client().authority();
    const bson::BytesView own = authority ? bson::BytesView(authority->digest) : access::digest_of_nobody();
    for (const auto& session : context.op->services().sessions.active()) {
      const bson::BytesView user = bson::BytesView(session.key).substr(session_uuid(session.key).size());
      if (!all_ && users_.empty() && user != own) continue;
      if (!users_.empty() && std::find(users_.begin(), users_.end(), user) == users_.end()) continue;
      bson::Builder out;
      out.append("_id", session_document(session.key)).append("lastUse", bson::Date{session.used_ms});
      documents.push_back(out.done());
    }
    return std::make_unique<ListStage>(std::move(documents));
  }

 private:
  const bool all_;
  const std::vector<bson::Bytes> users_;  // digests; empty: the client's own user
};

// Returns the users of [{user, db}, …] as digests.
std::vector<bson::Bytes> read_users(const bson::Element& list) {
  std::vector<bson::Bytes> users;
  if (!list.is_array()) refuse(base::ErrorCode::type_mismatch, "'users' must be an array, but found: " + type_of(list));
  for (const bson::Element& one : list.as_document()) {
    if (one.is_object()) refuse_repeated("users", one.as_document());
    const auto user = one.is_object() ? one.as_document().find("user") : bson::Element();
    const auto db = one.is_object() ? one.as_document().find("db") : bson::Element();
    if (!user.is_string() || !db.is_string())
      refuse(base::ErrorCode::failed_to_parse, "each of 'users' must have the strings 'user' and 'db'");
    users.push_back(access::digest_of({std::string(user.as_string()), std::string(db.as_string())}));
  }
  return users;
}

}  // namespace

StageSpecPtr parse_list_sessions(const bson::Element& specification, PipelineContext& context) {
  const std::string name(specification.name);
  if (name == "$listSessions" && (context.db != "config" || context.collection != "system.sessions"))
    refuse(base::ErrorCode::invalid_namespace, "$listSessions may only be run against config.system.sessions");
  if (!specification.is_object())
    refuse(base::ErrorCode::type_mismatch,
           name + " options must be specified in an object, but found: " + type_of(specification));
  refuse_repeated(name, specification.as_document());
  bool all = false;
  std::vector<bson::Bytes> users;
  for (const bson::Element& field : specification.as_document()) {
    if (field.name == "users")
      users = read_users(field);
    else if (field.name == "allUsers")
      all = field.truthy();
    else
      refuse(40415, "BSON field '" + name + "." + std::string(field.name) + "' is an unknown field.");
  }
  if (all && !users.empty())
    refuse(base::ErrorCode::unsupported_format, name + " may not specify both allUsers: true and a list of users");
  return std::make_unique<ListSessions>(specification, all, std::move(users));
}

}  // namespace server::query
