// This part of the oplog takes in the contents of collections that were dropped, and then lets their tables go.
//
// The newest entries come first: if the log gets too large meanwhile, its oldest go, and those needn't take in anything. On a
// full disk the log gives way instead: it begins behind what it would have to take in.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/log.h"
#include "replication/oplog_state.h"
#include "storage/collections/catalog.h"
#include "storage/engine/room.h"
#include "storage/store.h"

namespace replication {
namespace {

using storage::Stamp;
using storage::Transaction;

// A part of the work: what one transaction writes, and how far it looks for that.
constexpr size_t part_bytes_max = 4 << 20, part_entries_max = 1000;
constexpr int part_rows_max = 20'000;

}  // namespace

bool Oplog::State::take_in_dropped() {
  const base::MutexLock lock(dropped_mutex);
  if (!dropped_pass) {
    const std::vector<storage::DroppedCollection> all = store.catalog().dropped();
    if (all.empty()) return false;
    dropped_pass.emplace(DroppedPass{all, std::numeric_limits<Stamp>::max(), all.back().dropped});
    for (const auto& one : all) dropped_pass->from = std::min(dropped_pass->from, one.created);
  }
  if (dropped_pass->below > dropped_pass->from) {
    take_in_some(*dropped_pass);
    return true;
  }
  const auto& collections = dropped_pass->collections;
  while (dropped_pass->at < collections.size()) {
    const storage::DroppedCollection& one = collections[dropped_pass->at];
    const bool has_images = one.collection->options().pre_images;
    if (has_images && storage::is_full(store)) cut_upto(one.dropped - 1);
    if (has_images && !storage::is_full(store)) {
      dropped_pass->images_from = pre_images.make_last_whole(*one.collection, dropped_pass->images_from);
      if (dropped_pass->images_from != 0) return true;
    }
    store.catalog().let_go(one.collection->id());
    ++dropped_pass->at;
  }
  dropped_pass.reset();
  return true;
}

// Goes down the log until it has a part's work.
Oplog::State::NamedRows Oplog::State::named_rows(const DroppedPass& pass) {
  NamedRows found{.reached = pass.from};
  const size_t bytes_max = std::min(part_bytes_max, static_cast<size_t>(step_bytes));
  std::unordered_map<storage::CollectionId, storage::Collection*> dropped;
  for (const auto& one : pass.collections) dropped.emplace(one.collection->id(), one.collection.get());
  size_t bytes = 0;
  int rows = 0;
  Transaction transaction(store, Transaction::Mode::read);
  storage::TableCursor cursor = table.cursor(transaction);
  for (bool on = cursor.seek_back(entry_key(pass.below - 1)); on; on = cursor.previous()) {
    const Stamp stamp = stamp_from_key(cursor.key());
    if (stamp < std::max<Stamp>(pass.from, 1)) break;
    const Entry entry = decode(cursor.value()).or_throw();
    if (entry.form == Entry::Form::named) {
      if (const auto one = dropped.find(entry.collection); one != dropped.end()) {
        found.rows.push_back({stamp, entry.record, one->second});
        bytes += entry.content_bytes;
      }
    }
    if (++rows == part_rows_max || bytes >= bytes_max || found.rows.size() == part_entries_max) {
      found.reached = stamp;
      break;
    }
  }
  return found;
}

void Oplog::State::take_in_some(DroppedPass& pass) {
  const NamedRows found = named_rows(pass);
  if (!found.rows.empty() && storage::is_full(store)) {
    cut_upto(found.rows.front().stamp);
    pass.below = pass.from;
    return;
  }
  if (const Stamp missing = take_in(found)) {
    base::log(base::Severity::warning, base::LogComponent::storage, 7200514,
              "A content of a dropped collection can't be read; the oplog begins behind it, and change streams can't be resumed "
              "from before");
    cut_upto(missing);
    pass.below = pass.from;
    return;
  }
  pass.below = found.reached;
  // Whole steps of the log go as it grows. What is left of a single one that is too large goes here.
  if (!found.rows.empty() && is_too_large()) {
    cut_upto(found.reached);
    pass.below = pass.from;
  }
}

// Returns the timestamp of a row whose content can't be read; 0: there is none.
Stamp Oplog::State::take_in(const NamedRows& named) {
  if (named.rows.empty()) return 0;
  std::vector<std::pair<Stamp, int64_t>> grown;
  Stamp missing = 0;
  storage::in_transaction(store, [&](Transaction& transaction) {
    grown.clear();
    missing = 0;
    for (const NamedRow& one : named.rows) {
      const auto stored = table.get(transaction, entry_key(one.stamp));
      if (!stored) continue;  // it was cut off
      const Bytes row(*stored);
      const Entry entry = decode(row).or_throw();
      if (entry.form != Entry::Form::named) continue;
      std::optional<Bytes> content;
      try {
        content = one.collection->records().find(transaction, one.record, one.stamp);
      } catch (const base::OperationError& damage) {
        if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      }
      if (!content) {
        missing = one.stamp;
        return;
      }
      grown.emplace_back(one.stamp, put_whole(transaction, one.stamp, row, entry, bson::DocumentView(*content)));
    }
  });
  for (const auto& [stamp, bytes] : grown) grew(stamp, bytes);
  return missing;
}

bool Oplog::State::is_too_large() {
  tend();
  const base::MutexLock lock(mutex);
  int64_t stored = 0;
  for (const Step& step : steps) stored += step.stored_bytes;
  return stored > bytes_now();
}

void Oplog::State::cut_upto(Stamp stamp) {
  const Stamp from = std::max<Stamp>(1, cut_to);
  if (from > stamp) return;
  storage::in_transaction(store,
                          [&](Transaction& transaction) { table.truncate(transaction, entry_key(from), entry_key(stamp)); });
  was_cut(stamp);
  const base::MutexLock lock(mutex);
  save();
}

}  // namespace replication
