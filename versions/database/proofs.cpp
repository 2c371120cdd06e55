// This part of BranchedDatabase makes proofs, verifies commits, and frees the nodes of commits' trees.
#include "bson/keystring.h"
#include "versions/database/branched_database.h"
#include "versions/log/retention_entries.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

CommitProof BranchedDatabase::prove(Transaction& transaction, CommitNumber commit, std::string_view collection,
                                    const bson::ValueView& id) {
  const InUse in_use(*this);
  bson::KeyString key;
  key.append(id);
  return versions::prove(transaction, branches_, commit, collection_at(collection), key.bytes());
}

BranchedDatabase::Verified BranchedDatabase::verify(Transaction& transaction, CommitNumber commit, bool deep, size_t damage_max,
                                                    const std::function<void()>& interrupted) {
  const InUse in_use(*this);
  Verified verified{versions::verify(transaction, branches_, commit, deep, damage_max, interrupted), {}};
  const auto report = [&](size_t collection, Bytes key, std::string what) {
    if (verified.damaged++ < damage_max)
      verified.damage.push_back({.collection = collection, .node = {}, .key = std::move(key), .what = std::move(what)});
  };
  for (size_t i = 0; i < in_order_.size(); ++i) {
    SharedCollection& shared = *in_order_[i];
    verified.names.push_back(collection_name(shared));
    const Verification::Collection& read = verified.collections[i];
    if (!deep || !read.has_root || !read.whole_tree) continue;
    try {
      const View view = shared.view_of(transaction, commit);
      if (shared.records(transaction, view) == static_cast<int64_t>(read.documents)) continue;
      // The numbers differ, so the state shows documents that the tree doesn't name, or the tree names some that the state
      // doesn't show. The latter were reported above.
      const auto scan = shared.store.scan(transaction, view);
      while (scan->next()) {
        if (interrupted) interrupted();
        Bytes key = key_of(scan->content());
        if (!branches_.roots().find(transaction, read.root, key)) report(i, std::move(key), "the document is not in the commit");
      }
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::data_corruption_detected) throw;
      report(i, {}, error.what());
    }
  }
  return verified;
}

uint64_t BranchedDatabase::free_nodes(Transaction& transaction, const std::function<void()>& interrupted) {
  const InUse in_use(*this);
  const uint64_t count = branches_.free_nodes(transaction, interrupted);
  if (count > 0) append_to_log(transaction, log::FreeNodes{}.encode());
  return count;
}

}  // namespace versions
