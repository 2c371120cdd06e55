#include "replication/applier.h"

#include <algorithm>
#include <map>
#include <shared_mutex>
#include <unordered_map>

#include "bson/diff.h"
#include "bson/json.h"
#include "replication/performer.h"
#include "replication/replayed_record.h"
#include "replication/schema_changes.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace replication {

using base::ErrorCode;
using base::OperationError;
using storage::Stamp;
using storage::Transaction;

namespace {

// One storage transaction: enough to spread a commit's cost, little enough for a small cache.
constexpr size_t batch_entries_max = 1000;
constexpr size_t batch_bytes_max = 4 << 20;

[[noreturn]] void not_as_others(const std::string& what) {
  throw OperationError(ErrorCode::data_corruption_detected, what);
}

bson::ValueView id_of(const Entry& entry) {
  return (entry.o2 ? *entry.o2 : entry.o).find("_id");
}

// The error says which entry failed. Here a duplicate key means that members differ.
[[noreturn]] void fail(const LogRecord::Item& item, const OperationError& error) {
  const Entry& entry = item.entry;
  std::string text = "cannot apply the log's entry '" + std::string(1, entry.op) + "' of " + std::string(entry.ns) +
                     " at Timestamp(" + std::to_string(item.stamp >> 32) + ", " +
                     std::to_string(static_cast<uint32_t>(item.stamp)) + ")";
  if (entry.form == Entry::Form::delta)
    text += ", a delta of _id " + bson::to_json(static_cast<bson::ValueView>(entry.delta.base_id.find("_id")));
  else if (entry.op == 'i' || entry.op == 'u' || entry.op == 'd')
    text += ", _id " + bson::to_json(id_of(entry));
  if (entry.op == 'c') text += ", " + bson::to_json(entry.o);
  const bool differs = error.code() == ErrorCode::duplicate_key;
  throw OperationError(differs ? ErrorCode::data_corruption_detected : error.code(), text + ": " + error.what());
}

// The collections that are written to, held in place as by any writer: until the storage transaction is over.
class Targets {
 public:
  explicit Targets(storage::Catalog& catalog) : catalog_(catalog) {}

  storage::Collection& find(std::string_view ns) { return *target(ns).collection; }
  storage::Collection& find(const Entry& entry) {
    const Target& found = target(entry.ns);
    if (BytesView(found.uuid) != entry.uuid) not_as_others("the collection has another uuid");
    return *found.collection;
  }

 private:
  struct Target {
    std::shared_ptr<storage::Collection> collection;
    base::SharedHold schema;
    Bytes uuid;
  };
  Target& target(std::string_view ns) {
    const auto found = targets_.find(ns);
    if (found != targets_.end()) return found->second;
    Target target{catalog_.open(ns), {}, {}};
    if (!target.collection || target.collection->read_only()) not_as_others("there is no such collection");
    target.schema = std::shared_lock(target.collection->schema_mutex());
    if (target.collection->dropped() || target.collection->ns() != ns) not_as_others("there is no such collection");
    target.uuid = target.collection->uuid_bytes();
    return targets_.emplace(ns, std::move(target)).first->second;
  }

  storage::Catalog& catalog_;
  std::map<std::string, Target, std::less<>> targets_;
};

// The entry with its content, which stands in `content` if it came as a delta.
Entry whole(ForwardLog& forward, Transaction& transaction, Targets& targets, const LogRecord::Item& item, Bytes& content) {
  if (item.entry.form != Entry::Form::delta) return item.entry;
  content = forward.content(transaction, targets.find(item.entry), item);
  return made_whole(item.entry, bson::DocumentView(content));
}

}  // namespace

// A batch applies the records of one storage transaction. After a conflict it applies them again: the forward log then gets the
// same calls again, and ends with the same contents.
class Applier::Batch {
 public:
  Batch(Applier& applier, Transaction& transaction, Targets& targets)
      : applier_(applier), transaction_(transaction), targets_(targets), performer_(applier.oplog_, transaction) {}

  void apply(const LogRecord& record) {
    for (const LogRecord::Item& item : record.entries) {
      try {
        apply(item);
      } catch (const OperationError& error) {
        fail(item, error);
      }
    }
  }

  // Only the newest statement of each session is kept.
  void save_sessions() {
    for (const auto& [id, last] : sessions_) {
      applier_.sessions_.written_elsewhere(transaction_, targets_.find(session_records_ns), *last->entry.session,
                                           {last->stamp, last->entry.term});
    }
    sessions_.clear();
  }

 private:
  void apply(const LogRecord::Item& item) {
    Bytes content;
    make({item.stamp, whole(applier_.forward_, transaction_, targets_, item, content)});
    if (item.entry.session && item.entry.op != 'n') sessions_[Bytes(item.entry.session->session)] = &item;
  }

  // `item` is whole.
  void make(const LogRecord::Item& item) {
    const Entry& entry = item.entry;
    if (entry.ns == session_records_ns) save_sessions();  // one of them is removed
    switch (entry.op) {
      case 'n': performer_.append(entry, item.stamp); return;
      case 'i': performer_.insert(targets_.find(entry), entry, item.stamp); break;
      case 'u': update(item); break;
      case 'd': remove(item); break;
      default: not_as_others("an entry of this kind can't stand here");
    }
    applier_.forward_.applied(item.stamp, entry);
  }

  void update(const LogRecord::Item& item) {
    const Entry& entry = item.entry;
    storage::Collection& target = targets_.find(entry);
    const storage::RecordId record = record_of(target, entry);
    const bson::Document before = document_of(target, record);
    const bson::Document made = entry.o2 ? changed(before, entry) : bson::Document();
    const bson::DocumentView after = entry.o2 ? made.view() : entry.o;
    performer_.update(target, record, before, after, entry, item.stamp);
    keep_image(item, before, after);
  }

  static bson::Document changed(const bson::Document& before, const Entry& entry) {
    const auto diff = entry.o.find("diff");
    if (!diff.is_object()) not_as_others("no diff in it");
    return bson::diff::apply(before, diff.as_document()).or_throw();
  }

  void remove(const LogRecord::Item& item) {
    storage::Collection& target = targets_.find(item.entry);
    const storage::RecordId record = record_of(target, item.entry);
    const bson::Document before = document_of(target, record);
    performer_.remove(target, record, before, item.entry, item.stamp);
    keep_image(item, before, {});
  }

  void keep_image(const LogRecord::Item& item, bson::DocumentView before, bson::DocumentView after) {
    const auto& session = item.entry.session;
    if (!session || session->image == SessionWrite::Image::none) return;
    const bson::DocumentView image = session->image == SessionWrite::Image::before ? before : after;
    applier_.sessions_.keep_image(transaction_, targets_.find(session_images_ns), *session, item.stamp, image);
  }

  storage::RecordId record_of(storage::Collection& target, const Entry& entry) {
    const auto record = target.find_id(transaction_, id_of(entry));
    if (!record) not_as_others("there is no such document");
    return *record;
  }
  bson::Document document_of(storage::Collection& target, storage::RecordId record) {
    auto document = target.find(transaction_, record);
    if (!document) not_as_others("there is no such document");
    return std::move(*document);
  }

  Applier& applier_;
  Transaction& transaction_;
  Targets& targets_;
  Performer performer_;
  std::unordered_map<Bytes, const LogRecord::Item*> sessions_;
};

Applier::Applier(storage::Store& store, Oplog& oplog, LocalCommitter& committer, SessionStore& sessions)
    : store_(store), oplog_(oplog), committer_(committer), sessions_(sessions), forward_(oplog) {}

// One look decides for the whole record, which was one transaction here too.
bool Applier::passed(const LogRecord& record) {
  return record.first() <= store_.engine().last_stamp() && oplog_.passed(record.first());
}

// The contents of a record that is passed over are bases for what follows all the same. If a content can't be decoded any more,
// for example because its collection is gone, no recent content is sure to be its document's newest.
void Applier::pass_over(const LogRecord& record) {
  if (record.changes_schema()) return forward_.applied(record);
  Targets targets(store_.catalog());
  Transaction transaction(store_, Transaction::Mode::read);
  for (const LogRecord::Item& item : record.entries) {
    try {
      Bytes content;
      forward_.applied(item.stamp, whole(forward_, transaction, targets, item, content));
    } catch (const OperationError&) {
      forward_.skipped();
    } catch (const storage::WriteConflict&) {  // the engine gave the read up
      forward_.skipped();
    }
  }
}

void Applier::apply(const std::vector<LogRecord>& records) {
  const bool some_parts =
      !parts_.empty() || std::any_of(records.begin(), records.end(), [](const LogRecord& record) { return record.goes_on; });
  if (!some_parts) return apply_whole(records);
  std::vector<LogRecord> parts_before = parts_;
  try {
    apply_whole(whole_transactions(records));
  } catch (const OperationError& error) {
    if (error.code() == ErrorCode::out_of_disk_space) parts_ = std::move(parts_before);
    throw;
  }
}

std::vector<LogRecord> Applier::whole_transactions(const std::vector<LogRecord>& records) {
  const auto first_of = [](const LogRecord& record) { return record.first() - record.entries.front().entry.behind_first; };
  std::vector<LogRecord> whole;
  for (const LogRecord& record : records) {
    // Another primary's records follow when the one that began the transaction lost its lead.
    if (!parts_.empty() && first_of(parts_.front()) != first_of(record)) drop_parts();
    parts_.push_back(record);
    if (!record.goes_on) whole.push_back(join(std::exchange(parts_, {})));
  }
  return whole;
}

Stamp Applier::drop_parts() {
  const Stamp newest = parts_.empty() ? 0 : parts_.back().last();
  parts_.clear();
  return newest;
}

void Applier::apply_whole(const std::vector<LogRecord>& records) {
  for (size_t at = 0; at < records.size();) {
    if (passed(records[at])) {
      pass_over(records[at++]);
      continue;
    }
    if (records[at].changes_schema()) {
      apply_schema(records[at]);
      count(records[at++]);
      continue;
    }
    size_t end = at, entries = 0, bytes = 0;
    while (end < records.size() && entries < batch_entries_max && bytes < batch_bytes_max && !records[end].changes_schema() &&
           !passed(records[end])) {
      entries += records[end].entries.size();
      bytes += records[end].body->size();
      ++end;
    }
    Targets targets(store_.catalog());
    storage::in_transaction(store_, [&](Transaction& transaction) {
      Batch batch(*this, transaction, targets);
      for (size_t i = at; i < end; ++i) batch.apply(records[i]);
      batch.save_sessions();
    });
    for (; at < end; ++at) count(records[at]);
  }
}

void Applier::count(const LogRecord& record) {
  for (const LogRecord::Item& item : record.entries) {
    switch (item.entry.op) {
      case 'i': counts_.inserts.add(); break;
      case 'u': counts_.updates.add(); break;
      case 'd': counts_.removes.add(); break;
      case 'c': counts_.commands.add(); break;
      default: break;
    }
  }
}

// The command that the catalog logs must be in the record, whose entries are appended, as they are, within the catalog's
// transaction.
void Applier::apply_schema(const LogRecord& record) {
  try {
    std::deque<Bytes> contents;
    const LogRecord whole = with_contents(record, contents);
    const ReplayedRecord replayed(oplog_, whole);
    change_schema(store_.catalog(), committer_.branch_replayer(), whole, replayed);
    replayed.require_all();
    forward_.applied(whole);
  } catch (const OperationError& error) {
    fail(record.entries.front(), error);
  }
}

// The contents of a merge are decoded all at once. Bases are looked for in the database itself: a branch that is made with
// the merge isn't there yet.
LogRecord Applier::with_contents(const LogRecord& record, std::deque<Bytes>& contents) {
  LogRecord made = record;
  const std::string db(storage::database_of(record.entries.back().entry.ns));
  Targets targets(store_.catalog());
  Transaction transaction(store_, Transaction::Mode::read);
  for (LogRecord::Item& item : made.entries) {
    if (item.entry.form != Entry::Form::delta) continue;
    storage::Collection& home = targets.find(db + "." + std::string(storage::collection_of(item.entry.ns)));
    item.entry = made_whole(item.entry, bson::DocumentView(contents.emplace_back(forward_.content(transaction, home, item))));
  }
  return made;
}

}  // namespace replication
