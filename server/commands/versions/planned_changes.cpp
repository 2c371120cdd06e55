#include "server/commands/versions/planned_changes.h"

#include <unordered_set>

#include "server/commands/versions/branch_writer.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "storage/engine/interruptible_waits.h"

namespace server {

using base::Bytes;
using versions::BranchedDatabase;

namespace {

// With `anew` documents are removed and inserted instead of updated, so that two may exchange what a unique index allows once.
void write_collection(OperationContext& op, storage::Transaction& transaction, const write::Target& target,
                      versions::BranchStore& store, const versions::BranchStore::Adoption& adoption, bool anew) {
  write::DocumentWriter writer(op, target, write::Validate::never);
  std::unordered_set<base::BytesView> replaced;
  for (const auto& [key, record] : adoption.adopted) replaced.insert(key);
  for (const auto& [key, document] : adoption.written) replaced.insert(key);
  const auto gone = store.scan_set(transaction, adoption.removed);
  while (gone->next()) {
    op.check_interrupt();
    const bson::Document before{Bytes(gone->content())};
    if (anew || !replaced.contains(versions::key_of(before.bytes()))) writer.remove(transaction, gone->record(), before);
  }
  const auto put = [&](const bson::Document& after) {
    op.check_interrupt();
    const auto record = anew ? std::nullopt : target->find_id(transaction, after.view().find("_id"));
    const auto before = record ? target->find(transaction, *record, nullptr) : std::nullopt;
    // A collation may find a document with another _id: that one isn't replaced, so the insert is a duplicate.
    if (before && versions::key_of(before->bytes()) == versions::key_of(after.bytes()))
      writer.update(transaction, *record, *before, after);
    else
      writer.insert(transaction, after);
  };
  for (const auto& [key, record] : adoption.adopted) {
    if (auto content = store.content(transaction, record)) put(bson::Document(std::move(*content)));
  }
  for (const auto& [key, document] : adoption.written) put(bson::Document(document));
}

uint64_t changes_in(const BranchedDatabase::Planned& planned) {
  uint64_t changes = 0;
  for (const auto& [id, plan] : planned.plans)
    changes += 2 * (plan.adoption.adopted.size() + plan.adoption.written.size()) + plan.adoption.removed.count();
  return changes;
}

}  // namespace

void write_planned(OperationContext& op, BranchedDatabase& database, const std::string& branch,
                   const BranchedDatabase::Planned& planned, const std::function<void(storage::Transaction&)>& also) {
  BranchWriter writer(op, database, branch);
  const auto write = [&](storage::Transaction& transaction, bool anew) {
    transaction.expect_stamps(changes_in(planned));
    for (const auto& [id, plan] : planned.plans)
      write_collection(op, transaction, writer.target(id), database.versions_of(id)->store, plan.adoption, anew);
    if (also) also(transaction);
  };
  writer.write(
      planned.made, [&](storage::Transaction& transaction) { write(transaction, false); },
      [&](storage::Transaction& transaction) { write(transaction, true); });
  if (planned.dropped.empty()) return;
  const storage::InterruptibleWaits uninterrupted(nullptr);  // what is committed is followed to its end
  write::in_transaction(op, [&](storage::Transaction& transaction) { writer.drop_empty(transaction, planned.dropped); });
}

}  // namespace server
