#include "server/commands/versions/remotes.h"

#include <algorithm>

#include "bson/builder.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/statements.h"
#include "server/write/target.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"
#include "versions/database/refs.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
namespace pack = versions::pack;

namespace {

constexpr std::string_view remotes_ns = "admin.system.remotes";

std::string id_of(const std::string& db, std::string_view name) {
  return db + "." + std::string(name);
}

}  // namespace

std::vector<Remote> remotes_of(OperationContext& op, const std::string& db) {
  std::vector<Remote> remotes;
  const auto collection = write::store_of(op).catalog().open(remotes_ns);
  if (!collection) return remotes;
  storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
  const auto scan = collection->scan(transaction, storage::Direction::forward);
  while (scan->next()) {
    const Arguments stored("remote", scan->document());
    if (stored.required_string("db") != db) continue;
    remotes.push_back(
        {std::string(stored.required_string("name")), RemoteUri::parse(stored.required_string("uri")), selection_of(stored)});
  }
  std::sort(remotes.begin(), remotes.end(), [](const Remote& a, const Remote& b) { return a.name < b.name; });
  return remotes;
}

Remote remote_of(OperationContext& op, const std::string& db, std::string_view name) {
  for (Remote& remote : remotes_of(op, db)) {
    if (remote.name == name) return std::move(remote);
  }
  throw OperationError(ErrorCode::bad_value, "database '" + db + "' has no remote '" + std::string(name) + "'");
}

void check_remote_name(std::string_view name) {
  versions::check_branch_name(name);
  if (name.find('/') != name.npos) throw OperationError(ErrorCode::bad_value, "a remote's name has no '/'");
}

void put_remote(OperationContext& op, const std::string& db, const Remote& remote) {
  const std::string id = id_of(db, remote.name);
  bson::Builder out;
  out.append("_id", id).append("db", db).append("name", remote.name).append("uri", remote.uri.text);
  remote.selection.append_to(out);
  write::put_document(op, remotes_ns, id, out.done());
}

void remove_remote(OperationContext& op, const std::string& db, const std::string& name) {
  write::remove_document(op, remotes_ns, id_of(db, name));
}

bool is_of_remote(const std::vector<Remote>& remotes, std::string_view tag) {
  return std::any_of(remotes.begin(), remotes.end(), [&](const Remote& one) { return tag.starts_with(one.name + "/"); });
}

void check_not_of_remote(OperationContext& op, const std::string& db, std::string_view tag) {
  if (tag.find('/') == tag.npos || !is_of_remote(remotes_of(op, db), tag)) return;
  throw OperationError(ErrorCode::illegal_operation, "'" + std::string(tag) + "' is what a remote has: fetch alone changes it");
}

bson::Document document_of(const pack::Ref& ref) {
  bson::Builder out;
  out.append(ref.kind == pack::Ref::Kind::branch ? "branch" : "tag", ref.name);
  out.append("commit", bson::Binary{0, versions::view(ref.commit)});
  return out.done();
}

namespace {

versions::Hash id_in(const bson::ValueView& value, std::string_view field) {
  if (value.type() != bson::Type::binary || value.as_binary().bytes.size() != sizeof(versions::Hash))
    throw OperationError(ErrorCode::bad_value, "'" + std::string(field) + "' isn't a commit's id, which has 32 bytes");
  return versions::merkle::read_hash(value.as_binary().bytes.data());
}

}  // namespace

pack::Ref ref_of_document(bson::DocumentView document) {
  const Arguments arguments("refs", document);
  const auto branch = arguments.string("branch"), tag = arguments.string("tag");
  if (branch.has_value() == tag.has_value())
    throw OperationError(ErrorCode::bad_value, "a ref is {branch: <name>, commit: <id>} or {tag: <name>, commit: <id>}");
  return {.kind = branch ? pack::Ref::Kind::branch : pack::Ref::Kind::tag,
          .name = std::string(branch ? *branch : *tag),
          .commit = id_in(arguments.any("commit"), "commit")};
}

versions::Selection selection_of(const Arguments& arguments) {
  arguments.array("collections");  // throws in MongoDB's words
  arguments.object("filter");
  return versions::read_selection(arguments.fields());
}

std::vector<versions::Hash> ids_of(bson::DocumentView array, std::string_view field) {
  std::vector<versions::Hash> ids;
  for (const bson::Element& one : array) ids.push_back(id_in(one, field));
  return ids;
}

}  // namespace server
