#include "storage/upkeep/repair.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/guarded.h"
#include "bson/validate.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/stored_catalog.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/wt.h"
#include "storage/store.h"
#include "storage/upkeep/backup.h"
#include "storage/upkeep/damaged_documents.h"
#include "storage/upkeep/repair_steps.h"
#include "storage/upkeep/validate.h"

namespace storage {

using base::ErrorCode;

Repair::Repair(Store& store, StoredCollection& collection, const ContentCopies& copies, VersionRepair* versions,
               const std::function<void()>& interrupted, DocumentLog* log)
    : store_(store),
      engine_(store.engine()),
      collection_(collection),
      chains_(collection.records().state().chains),
      tables_(chains_.tables()),
      copies_(copies),
      versions_(versions),
      interrupted_(interrupted),
      log_(log) {}

bool was_salvaged(Store& store) {
  return std::filesystem::exists(store.options().path + "/" + wt::salvaged_file);
}

void forget_salvage(Store& store) {
  std::filesystem::remove(store.options().path + "/" + wt::salvaged_file);
}

bool Repair::holds(BytesView content) {
  const auto document = bson::validate(content);
  return document.ok() && document.value().size() == content.size();
}

void Repair::run() {
  mend_tables();
  make_states();
  make_pending();
  unreadable_ = damaged_documents(engine_, collection_, SIZE_MAX, interrupted_, true);
  find_unnamed();
  restore_stubs();
  restore_from_log();
  if (!report.restored.empty()) restore_stubs();  // those that are based on what the log had
  heal_contents();
  drop_damaged_pre_states();
  correct_chains();
  const auto indexes = collection_.stored_indexes();
  for (const auto& index : *indexes) correct_index(*index);
  remove_unnamed();
  keep_ids_of_lost();
  correct_counts();
  make_trees();
  warn(report.restored_contents, "Restored {} contents from copies and the log.");
  warn(report.restored_stubs, "Restored {} documents from chains.");
  warn(report.removed_contents, "Removed {} contents that only snapshots showed.");
  warn(report.removed_records, "Removed {} invalid documents.");
  warn(report.moved_documents, "Removed {} duplicate documents.");
  warn(report.inserted_keys, "Inserted {} missing index entries.");
  warn(report.removed_keys, "Removed {} extra index entries.");
  warn(report.corrected_types, "Corrected the types of {} index entries.");
  warn(report.corrected_chains, "Corrected {} chain entries.");
  warn(report.made_states, "Made {} states of commits again.");
  warn(report.made_pending, "Made {} rows of what branches show beyond their last commits again.");
  warn(report.made_trees, "Made {} hash trees of commits again.");
  if (lost_) report.warnings.push_back("What was removed is in " + lost_->ns() + ".");
  name_lost();
}

void Repair::ask() const {
  if (interrupted_) interrupted_();
}

void Repair::warn(int64_t count, std::string text) {
  if (count > 0) report.warnings.push_back(text.replace(text.find("{}"), 2, std::to_string(count)));
}

void Repair::name_lost() {
  for (const DamagedDocument& document : unreadable_) {
    Transaction transaction(engine_, Transaction::Mode::read);
    if (readable(transaction, document.record)) continue;
    report.lost.push_back(name_of(document));
    const auto why = why_not_.find(document.record);
    report.warnings.push_back("Lost: " + report.lost.back() + (why == why_not_.end() ? "" : "; " + why->second));
  }
}

std::vector<RecordId> Repair::records() {
  std::vector<RecordId> all;
  Transaction transaction(engine_, Transaction::Mode::read);
  for (const Table* table : {&tables_.records, &tables_.packed}) {
    TableCursor cursor = table->cursor(transaction);
    while (cursor.next()) all.push_back(record_from_key(cursor.key()));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::optional<Bytes> Repair::readable(Transaction& transaction, RecordId record) {
  transaction.pass_by_caches();
  auto content = base::guarded([&] { return collection_.records().find(transaction, record); });
  if (content && !holds(*content)) content.reset();
  return content;
}

void Repair::correct_counts() {
  StoreCounts there;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    there = check_chains(chains_, transaction, false, interrupted_).counts;
  }
  const StoreCounts counted = chains_.counters().get();
  there += counted;
  there -= counted.of_rows();
  chains_.counters().set(there);
  collection_.correct_counts(there.records, there.logical_bytes);
}

RepairReport repair_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                               const ContentCopies& copies, VersionRepair* versions, const std::function<void()>& interrupted,
                               DocumentLog* log) {
  const std::shared_ptr<Collection> home = collection->home();
  const auto stored = std::dynamic_pointer_cast<StoredCollection>(home ? home : collection);
  if (!stored)
    throw base::OperationError(ErrorCode::command_not_supported,
                               "'" + collection->ns() + "' is not kept as a collection that could be repaired");
  RepairReport report;
  {
    const auto schema = base::hold_exclusively(stored->schema_mutex(), interrupted);
    if (stored->dropped())
      throw base::OperationError(ErrorCode::namespace_not_found, "Collection '" + stored->ns() + "' does not exist to validate.");
    const auto still = store.dedup().hold();
    Repair repair(store, *stored, copies, versions, interrupted, log);
    repair.run();
    forget_backups(store.engine());
    report = std::move(repair.report);
  }
  report.after = validate_collection(store, collection, full, interrupted);
  return report;
}

std::vector<DamagedDocument> corrupt_records(Engine& engine, Collection& collection, size_t count_max,
                                             const std::function<void()>& interrupted) {
  const std::shared_ptr<Collection> home = collection.home();
  auto* const stored = dynamic_cast<StoredCollection*>(home ? home.get() : &collection);
  if (!stored) return {};
  return damaged_documents(engine, *stored, count_max, interrupted);
}

}  // namespace storage
