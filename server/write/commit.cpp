#include "server/write/commit.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "base/clock_time.h"
#include "replication/committer.h"
#include "replication/coordinator.h"
#include "replication/session_store.h"
#include "server/core/client_transaction.h"
#include "server/core/key_claims.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/transaction_registry.h"
#include "server/write/batch.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using replication::SessionWrite;
using storage::RecordId;
using storage::Stamp;
using storage::Transaction;
using Change = ClientTransaction::Change;
using Use = ClientTransaction::Use;

namespace {

// A conflict in the commit is with a writer that is about to end, or with one that was faster.
constexpr auto conflicts_longest = std::chrono::milliseconds(500);

[[noreturn]] void lost_race() {
  throw TransientTransactionError(ErrorCode::write_conflict, storage::WriteConflict().what());
}

// Creates what stands for itself only in the draft.
void create_schema(OperationContext& op, ClientTransaction& transaction) {
  storage::Catalog& catalog = store_of(op).catalog();
  const storage::SchemaChange how{.interrupted = op.interrupted()};
  for (auto& [ns, use] : transaction.uses()) {
    if (!use.creates_collection) continue;
    try {
      const auto collection = catalog.create(ns, use.options, {}, how);
      if (!use.indexes.empty()) catalog.create_indexes(collection, use.indexes, how);
    } catch (const OperationError& error) {
      // Others see the collection from here on, and may have created, dropped or filled it meanwhile.
      constexpr ErrorCode races[] = {ErrorCode::namespace_exists, ErrorCode::namespace_not_found, ErrorCode::duplicate_key};
      if (std::find(std::begin(races), std::end(races), error.code()) == std::end(races)) throw;
      lost_race();
    }
  }
}

// Makes the changes in one storage transaction; after a conflict it is made anew.
class Repetition {
 public:
  Repetition(OperationContext& op, const ClientTransaction& transaction, const std::map<const Use*, Target>& targets)
      : op_(op), targets_(targets), changes_(transaction.changes()) {}

  Stamp run(Transaction& transaction, const replication::SessionHistory& history) {
    Stamp stamp = 0;
    for (const Change& change : changes_) {
      op_.check_interrupt();
      const SessionWrite session = history.transaction_part(&change == &changes_.back());
      try {
        stamp = make(transaction, change, session);
      } catch (const OperationError& error) {
        // The draft had the key to itself. Others could take it once the draft was rolled back.
        if (error.code() != ErrorCode::duplicate_key) throw;
        lost_race();
      }
    }
    return stamp;
  }

 private:
  Stamp make(Transaction& transaction, const Change& change, const SessionWrite& session) {
    storage::Collection& collection = *targets_.at(change.use);
    replication::Committer& committer = *op_.services().committer;
    if (change.kind == Change::Kind::insert) {
      const storage::Stored stored = committer.insert(transaction, collection, change.document, &session);
      moved_[{change.use, change.record}] = stored.id;
      return stored.generation;
    }
    const RecordId record = find(transaction, collection, change);
    const auto before = collection.find(transaction, record);
    if (!before) lost_race();
    if (change.kind == Change::Kind::remove) return committer.remove(transaction, collection, record, *before, &session);
    const Stamp stamp = committer.update(transaction, collection, record, *before, change.document, change.form, &session);
    if (!collection.moves()) return stamp;
    // The next change of the document finds it where it is now.
    const auto now = collection.find_id(transaction, change.document.find("_id"));
    base::check(now.has_value(), "an updated document is in its collection");
    moved_[{change.use, change.becomes}] = *now;
    return stamp;
  }

  // Returns the record of a document as it is now, if nobody else has changed the document since the draft read it.
  RecordId find(Transaction& transaction, storage::Collection& collection, const Change& change) {
    if (storage::is_draft(change.generation)) {
      const auto moved = moved_.find({change.use, change.record});
      return moved != moved_.end() ? moved->second : change.record;
    }
    const auto now = collection.current(transaction, change.record);
    if (!now || *now != change.record) lost_race();
    if (collection.records().generation_not_after(transaction, *now, std::numeric_limits<Stamp>::max(), true) !=
        change.generation)
      lost_race();
    return *now;
  }

  struct Hash {
    size_t operator()(const std::pair<const Use*, RecordId>& key) const {
      return std::hash<const void*>()(key.first) ^ std::hash<RecordId>()(key.second) * 0x9e3779b97f4a7c15ull;
    }
  };

  OperationContext& op_;
  const std::map<const Use*, Target>& targets_;
  const std::vector<Change>& changes_;
  std::unordered_map<std::pair<const Use*, RecordId>, RecordId, Hash>
      moved_;  // records of the draft that have other numbers here
};

std::map<const Use*, Target> open_targets(OperationContext& op, const std::vector<Change>& changes) {
  std::map<const Use*, Target> targets;
  for (const Change& change : changes) {
    if (targets.contains(change.use)) continue;
    Target target = change.use->creates_collection ? Target::open_anew(op, change.use->ns) : Target::held(change.use->collection);
    if (!target) lost_race();
    targets.emplace(change.use, std::move(target));
  }
  return targets;
}

std::vector<WriteClaim> claims_of(OperationContext& op, const std::vector<Change>& changes) {
  std::vector<WriteClaim> claims;
  for (const Change& change : changes) {
    op.check_interrupt();
    const storage::Collection& collection = *change.use->collection;
    if (change.kind != Change::Kind::insert && !storage::is_draft(change.generation))
      claims.push_back({collection.id(), change.record});
    // Nobody else knows the collection, or the document goes.
    if (change.use->creates_collection || change.kind == Change::Kind::remove) continue;
    const std::vector<WriteClaim> keys = key_claims(collection, change.document);
    claims.insert(claims.end(), keys.begin(), keys.end());
  }
  return claims;
}

}  // namespace

void commit(OperationContext& op, ClientTransaction& transaction) {
  const std::vector<Change>& changes = transaction.changes();
  create_schema(op, transaction);
  if (changes.empty()) return;
  const auto targets = open_targets(op, changes);
  const auto history = op.services().session_store->check_out(transaction.session(), transaction.number(), op.interrupted());
  const auto claims = op.services().transactions->claims.claim(claims_of(op, changes));
  transaction.end_draft();
  const auto begun = base::now(op.services().clock);
  storage::in_transaction(
      store_of(op),
      [&](Transaction& storage) {
        storage.expect_stamps(changes.size());
        history->begin();
        const Stamp last = Repetition(op, transaction, targets).run(storage, *history);
        history->ended_transaction({last, op.services().replica_set->write_term()});
        history->save(storage);
        storage.after_commit([&op, last] { op.last_write = last; });
      },
      [&, conflict = on_conflict(op)] {
        conflict();
        if (base::now(op.services().clock) - begun > conflicts_longest) lost_race();
      });
}

}  // namespace server::write
