#include "server/commands/versions/popped_stashes.h"

#include <algorithm>

#include "bson/builder.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/branch_writer.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/statements.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server {

using versions::BranchedDatabase;

namespace {

constexpr std::string_view popped_ns = "admin.system.stashes";

std::string id_of(const std::string& db, uint64_t number) {
  return db + "." + std::to_string(number);
}

std::string commit_of(storage::Transaction& transaction, BranchedDatabase& database, const BranchedDatabase::Stash& stash) {
  return hex(database.branches().graph().commit(transaction, stash.commit)->id);
}

// The stash that was popped, if it is there; another one may have its number by now.
std::optional<BranchedDatabase::Stash> still_there(storage::Transaction& transaction, BranchedDatabase& database,
                                                   const PoppedStash& popped) {
  for (const BranchedDatabase::Stash& one : database.stashes(transaction)) {
    if (one.number == popped.number && commit_of(transaction, database, one) == popped.commit) return one;
  }
  return std::nullopt;
}

void drop_collections(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                      const PoppedStash& popped) {
  if (popped.dropped.empty() || !database.branches().graph().branch(transaction, popped.branch)) return;
  const std::string db =
      popped.branch == BranchedDatabase::main ? database.name() : database.name() + "@" + versions::escaped(popped.branch);
  std::vector<storage::CollectionId> ids;
  for (const storage::CollectionId id : database.collections()) {
    const auto shared = database.versions_of(id);
    if (!shared) continue;
    const std::string name(storage::collection_of(shared->base.ns()));
    const bool named = std::find(popped.dropped.begin(), popped.dropped.end(), name) != popped.dropped.end();
    if (named && write::store_of(op).catalog().open(db + "." + name)) ids.push_back(id);
  }
  BranchWriter(op, database, popped.branch).drop_empty(transaction, ids);
}

}  // namespace

std::vector<PoppedStash> popped_stashes(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database) {
  std::vector<PoppedStash> all;
  const auto collection = write::store_of(op).catalog().open(popped_ns);
  if (!collection) return all;
  const auto scan = collection->scan(transaction, storage::Direction::forward);
  while (scan->next()) {
    const Arguments stored("stash", scan->document());
    // Others may have put documents here that no stash made.
    const bson::Element db = scan->document().find("db");
    if (!db.is_string() || db.as_string() != database.name()) continue;
    PoppedStash one{.number = static_cast<uint64_t>(stored.required_integer("stash")),
                    .commit = std::string(stored.required_string("commit")),
                    .branch = std::string(stored.required_string("branch"))};
    for (const bson::Element& name : stored.required_array("dropped")) {
      if (name.is_string()) one.dropped.emplace_back(name.as_string());
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<BranchedDatabase::Stash> stashes_of(OperationContext& op, storage::Transaction& transaction,
                                                BranchedDatabase& database) {
  std::vector<BranchedDatabase::Stash> all = database.stashes(transaction);
  for (const PoppedStash& popped : popped_stashes(op, transaction, database)) {
    std::erase_if(all, [&](const BranchedDatabase::Stash& one) {
      return one.number == popped.number && commit_of(transaction, database, one) == popped.commit;
    });
  }
  return all;
}

void make_popped_collection(OperationContext& op) {
  write::store_of(op).catalog().open_or_create(popped_ns, {.interrupted = op.interrupted()});
}

write::Target popped_target(OperationContext& op) {
  return write::Target::open_or_create(op, popped_ns);
}

void put_popped(OperationContext& op, storage::Transaction& transaction, const write::Target& target, BranchedDatabase& database,
                const PoppedStash& popped) {
  bson::Builder out;
  out.append("_id", id_of(database.name(), popped.number)).append("db", database.name());
  out.append("stash", static_cast<int64_t>(popped.number)).append("commit", popped.commit).append("branch", popped.branch);
  {
    auto dropped = out.array("dropped");
    for (const std::string& name : popped.dropped) dropped.append(name);
  }
  write::DocumentWriter(op, target, write::Validate::never).insert(transaction, out.done());
}

void end_pops(OperationContext& op, BranchedDatabase& database) {
  std::vector<PoppedStash> popped;
  {
    storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
    popped = popped_stashes(op, transaction, database);
  }
  for (const PoppedStash& one : popped) {
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      if (!still_there(transaction, database, one)) return;
      drop_collections(op, transaction, database, one);
      database.drop_stash(transaction, one.number);
    });
    write::remove_document(op, popped_ns, id_of(database.name(), one.number));
  }
}

}  // namespace server
