#include "versions/database/open_merges.h"

#include "base/varint.h"
#include "bson/validate.h"
#include "storage/engine/engine.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr size_t number_bytes = 8;

Bytes branch_key(BranchId branch) {
  Bytes key;
  base::append_be64(key, static_cast<uint64_t>(branch));
  return key;
}

Bytes decisions_key(BranchId branch, storage::CollectionId collection) {
  Bytes key = branch_key(branch);
  base::append_be64(key, static_cast<uint64_t>(collection));
  return key;
}

[[noreturn]] void damaged() {
  throw OperationError(ErrorCode::data_corruption_detected, "a row of a merge that is under way can't be read");
}

bool is_document(BytesView bytes) {
  const auto document = bson::validate(bytes);
  return document.ok() && document.value().size() == bytes.size();
}

CommitNumber take_commit(BytesView& row) {
  const auto number = base::take_varint(row);
  if (!number) damaged();
  return *number;
}

Decision read_decision(BytesView row) {
  Decision decision;
  if (row.size() < 1 + decision.sides.size() || static_cast<uint8_t>(row[0]) > static_cast<uint8_t>(Decision::Take::document))
    damaged();
  decision.take = static_cast<Decision::Take>(row[0]);
  std::copy_n(row.begin() + 1, decision.sides.size(), decision.sides.begin());
  decision.document = row.substr(1 + decision.sides.size());
  const bool has_document = decision.take == Decision::Take::document;
  if (has_document ? !is_document(decision.document) : !decision.document.empty()) damaged();
  return decision;
}

}  // namespace

OpenMerges::OpenMerges(storage::Engine& engine, uint32_t database)
    : table_(engine.open_table("versions-db" + std::to_string(database) + "-merges", {.allocation_bytes = 512, .copied = true})) {
}

std::optional<OpenMerge> OpenMerges::find(Transaction& transaction, BranchId branch) const {
  const auto row = table_.get(transaction, branch_key(branch));
  if (!row) return std::nullopt;
  BytesView rest = *row;
  const CommitNumber from = take_commit(rest);
  if (!is_document(rest)) damaged();
  return OpenMerge{from, bson::Document(Bytes(rest))};
}

void OpenMerges::begin(Transaction& transaction, BranchId branch, const OpenMerge& merge) {
  Bytes row;
  base::append_varint(row, merge.from);
  row += merge.request.bytes();
  if (table_.insert(transaction, branch_key(branch), row)) return;
  throw OperationError(ErrorCode::illegal_operation,
                       "a merge is under way on the branch: continueMerge or abortMerge come first");
}

void OpenMerges::decide(Transaction& transaction, BranchId branch, storage::CollectionId collection, BytesView key,
                        const Decision& decision) {
  const auto row = table_.get(transaction, branch_key(branch));
  if (!row) throw OperationError(ErrorCode::illegal_operation, "no merge is under way on the branch");
  table_.put(transaction, branch_key(branch), Bytes(*row));
  Bytes value(1, static_cast<char>(decision.take));
  value.append(view(decision.sides)).append(decision.document);
  Bytes at = decisions_key(branch, collection);
  at.append(key);
  table_.put(transaction, at, value);
}

Decisions OpenMerges::decisions(Transaction& transaction, BranchId branch, storage::CollectionId collection,
                                KeptBytes* kept) const {
  Decisions decisions;
  const Bytes prefix = decisions_key(branch, collection);
  TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.seek(prefix); on && cursor.key().starts_with(prefix); on = cursor.next()) {
    if (kept) kept->add(kept_node_bytes + sizeof(Decision) + cursor.key().size() + cursor.value().size());
    decisions.emplace(cursor.key().substr(prefix.size()), read_decision(cursor.value()));
  }
  return decisions;
}

std::vector<Bytes> OpenMerges::decided(Transaction& transaction, BranchId branch, storage::CollectionId collection) const {
  std::vector<Bytes> keys;
  const Bytes prefix = decisions_key(branch, collection);
  TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.seek(prefix); on && cursor.key().starts_with(prefix); on = cursor.next())
    keys.emplace_back(cursor.key().substr(prefix.size()));
  return keys;
}

std::optional<Decision> OpenMerges::decision(Transaction& transaction, BranchId branch, storage::CollectionId collection,
                                             BytesView key) const {
  Bytes at = decisions_key(branch, collection);
  at.append(key);
  const auto row = table_.get(transaction, at);
  return row ? std::optional(read_decision(*row)) : std::nullopt;
}

bool OpenMerges::end(Transaction& transaction, BranchId branch) {
  const Bytes prefix = branch_key(branch);
  std::vector<Bytes> gone;
  {
    TableCursor cursor = table_.cursor(transaction);
    for (bool on = cursor.seek(prefix); on && cursor.key().starts_with(prefix); on = cursor.next())
      gone.emplace_back(cursor.key());
  }
  for (const Bytes& key : gone) table_.remove(transaction, key);
  return !gone.empty();
}

std::vector<CommitNumber> OpenMerges::held(Transaction& transaction) const {
  std::vector<CommitNumber> held;
  TableCursor cursor = table_.cursor(transaction);
  while (cursor.next()) {
    if (cursor.key().size() != number_bytes) continue;
    BytesView row = cursor.value();
    held.push_back(take_commit(row));
  }
  return held;
}

}  // namespace versions
