#include "replication/forward_log.h"

#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "bson/validate.h"
#include "dedup/delta.h"

namespace replication {

using storage::Stamp;

namespace {

constexpr size_t content_bytes_min = 256;  // below it names and hashes take what a delta would save
constexpr size_t worth_percent = 75;       // compressed, a longer delta is hardly shorter than the content
constexpr size_t good_percent = 10;        // then no other base is tried, and this one has had its successor
constexpr size_t bases_tried = 3;

[[noreturn]] void damaged(const std::string& what) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, what);
}

// Does the entry make the contents that it has? A merge's entry only says what they are now; other entries made them. Of the
// transactions in parts, merges are those that aren't a client's.
bool made_by_its_entry(const LogRecord& record, const Entry& entry) {
  const bool of_merge = record.changes_schema() || (record.goes_on && !entry.in_transaction);
  return entry.op == 'c' || !of_merge;
}

// Tells whether a command removes records without naming their documents.
bool takes_records_away(bson::DocumentView command) {
  static const std::set<std::string_view> names{"dropBranch",  "dropCollection", "purge",
                                                "resetBranch", "sweep",          "takeCollection"};
  return names.contains(command.begin()->name);
}

bson::ValueView id_of(const Entry& entry) {
  return (entry.o2 ? *entry.o2 : entry.o).find("_id");
}
bool brings_content(const Entry& entry) {
  return entry.op == 'i' || (entry.op == 'u' && !entry.o2);
}

bool good(size_t delta_bytes, size_t content_bytes) {
  return delta_bytes <= content_bytes * good_percent / 100;
}

bson::Document named(const bson::ValueView& id) {
  bson::Builder out;
  out.append("_id", id);
  return out.done();
}

}  // namespace

void ForwardLog::lead() {
  const base::MutexLock lock(mutex_);
  sources_.sketch_all();
}

LogRecord ForwardLog::encode(const LogRecord& record) {
  const base::MutexLock lock(mutex_);
  figures_.records.add();
  figures_.record_bytes.add(static_cast<int64_t>(record.body->size()));
  if (!enabled) {
    sources_.clear();
    figures_.forward_bytes.add(static_cast<int64_t>(record.body->size()));
    return record;
  }
  LogRecordBuilder builder;
  for (const LogRecord::Item& item : record.entries) {
    bson::Document base_id;
    Bytes instructions;
    dedup::Features features;
    const auto delta = delta_of(item.stamp, item.entry, base_id, instructions, features);
    builder.add(item.stamp, delta ? *delta : item.entry);
    if (made_by_its_entry(record, item.entry)) pass(item.stamp, item.entry, &features);
  }
  LogRecord made = builder.done(record.goes_on);
  figures_.forward_bytes.add(static_cast<int64_t>(made.body->size()));
  return made;
}

// Nothing where it goes whole. The result has views into what is given.
std::optional<Entry> ForwardLog::delta_of(Stamp stamp, const Entry& entry, bson::Document& base_id, Bytes& instructions,
                                          dedup::Features& features) {
  if (!brings_content(entry)) return std::nullopt;
  const BytesView content = entry.o.bytes();
  figures_.contents.add();
  figures_.content_bytes.add(static_cast<int64_t>(content.size()));
  if (content.size() < content_bytes_min) return figures_.small.add(), std::nullopt;
  features = sources_.sketch(entry.uuid, content);
  std::vector<const LogSources::Content*> bases;
  if (entry.op == 'u') {
    if (const auto* before = sources_.find(LogSources::key_of(entry.uuid, id_of(entry)))) bases.push_back(before);
  }
  const bool replaces = !bases.empty();
  if (!replaces) bases = sources_.find_similar(features, bases_tried);
  const LogSources::Content* base = nullptr;
  size_t bytes_max = content.size() * worth_percent / 100;
  bool some = false;
  for (const LogSources::Content* candidate : bases) {
    if (!BytesView(candidate->key).starts_with(entry.uuid)) continue;  // features that are the same by chance
    some = true;
    auto found = dedup::encode(candidate->bytes, content, {.literal_bytes_max = bytes_max});
    if (!found || found->size() > bytes_max) continue;
    base = candidate;
    instructions = std::move(*found);
    if (good(instructions.size(), content.size())) break;
    bytes_max = instructions.size() - 1;
  }
  if (!base) return (some ? figures_.not_worth : figures_.unlike).add(), std::nullopt;
  base = sources_.find(base->stamp);  // used
  base_id = named(base->document().find("_id"));
  Entry made = entry;
  made.form = Entry::Form::delta;
  made.delta = {stamp - base->stamp, base::checksum32(base->bytes), base::hash64(content), base_id, instructions};
  (replaces ? figures_.same_document : figures_.similar).add();
  figures_.deltas.add();
  figures_.delta_content_bytes.add(static_cast<int64_t>(content.size()));
  figures_.delta_bytes.add(static_cast<int64_t>(instructions.size()));
  if (good(instructions.size(), content.size())) sources_.forget(Bytes(base->key));
  return made;
}

// Notes what the entry's document is after it.
void ForwardLog::pass(Stamp stamp, const Entry& entry, const dedup::Features* features) {
  if (entry.op == 'c') {
    // Those of a collection that was dropped are nobody's base any more, and go as others come.
    if (takes_records_away(entry.o)) sources_.clear();
    return;
  }
  if (entry.op == 'n') return;
  Bytes key = LogSources::key_of(entry.uuid, id_of(entry));
  if (brings_content(entry) && entry.o.size() >= content_bytes_min) {
    sources_.put(std::move(key), stamp, entry.o.bytes(), features);
  } else {
    sources_.forget(key);
  }
}

void ForwardLog::applied(const LogRecord& record) {
  for (const LogRecord::Item& item : record.entries) {
    if (made_by_its_entry(record, item.entry)) applied(item.stamp, item.entry);
  }
}

void ForwardLog::applied(Stamp stamp, const Entry& entry) {
  const base::MutexLock lock(mutex_);
  pass(stamp, entry, nullptr);
}

void ForwardLog::skipped() {
  const base::MutexLock lock(mutex_);
  sources_.clear();
}

void ForwardLog::append_status(bson::Builder& out) const {
  const ForwardFigures& now = figures_;
  out.append("enabled", enabled.load());
  out.append("records", now.records.get()).append("recordBytes", now.record_bytes.get());
  out.append("forwardBytes", now.forward_bytes.get()).append("sentBytes", now.sent_bytes.get());
  out.append("contents", now.contents.get()).append("contentBytes", now.content_bytes.get());
  out.append("deltas", now.deltas.get())
      .append("deltaContentBytes", now.delta_content_bytes.get())
      .append("deltaBytes", now.delta_bytes.get());
  {
    auto bases = out.object("bases");
    bases.append("sameDocument", now.same_document.get()).append("similar", now.similar.get());
  }
  {
    auto whole = out.object("whole");
    whole.append("small", now.small.get()).append("unlike", now.unlike.get()).append("notWorth", now.not_worth.get());
  }
  auto decoded = out.object("decoded");
  decoded.append("contents", now.decoded.get()).append("bytes", now.decoded_bytes.get());
  decoded.append("fromRecent", now.from_recent.get())
      .append("fromRecords", now.from_records.get())
      .append("fromOplog", now.from_oplog.get());
}

Bytes ForwardLog::content(storage::Transaction& transaction, storage::Collection& target, const LogRecord::Item& item) {
  const Entry::Delta& delta = item.entry.delta;
  const Stamp base_stamp = item.stamp - delta.base_behind;
  const base::MutexLock lock(mutex_);
  std::optional<Bytes> read;
  BytesView base;
  if (const LogSources::Content* recent = sources_.find(base_stamp)) {
    base = recent->bytes;
    figures_.from_recent.add();
  } else if ((read = target.find_version(transaction, delta.base_id.find("_id"), base_stamp))) {
    figures_.from_records.add();
  } else if ((read = base_in_oplog(transaction, target, base_stamp))) {
    figures_.from_oplog.add();
  } else {
    damaged("what it is a delta of is not here");
  }
  if (read) base = *read;
  if (base::checksum32(base) != delta.base_checksum) damaged("what it is a delta of is another content here");
  auto made = dedup::apply(base, delta.instructions, {.output_bytes_max = bson::document_bytes_max_internal});
  if (!made.ok()) damaged("its delta can't be applied: " + made.failure().message);
  if (base::hash64(made.value()) != delta.content_hash) damaged("its delta makes another content");
  const auto valid = bson::validate(made.value());
  if (!valid.ok() || valid.value().size() != made.value().size()) damaged("its delta makes no document");
  if (!read && good(delta.instructions.size(), made.value().size())) sources_.forget(Bytes(sources_.find(base_stamp)->key));
  figures_.decoded.add();
  figures_.decoded_bytes.add(static_cast<int64_t>(made.value().size()));
  return std::move(made).value();
}

std::optional<Bytes> ForwardLog::base_in_oplog(storage::Transaction& transaction, storage::Collection& target, Stamp base) {
  storage::TableCursor rows = oplog_.rows(transaction);
  if (!rows.seek(entry_key(base)) || stamp_from_key(rows.key()) != base) return std::nullopt;
  const Entry entry = decode(rows.value()).or_throw();
  if (!brings_content(entry) || entry.uuid != BytesView(target.uuid_bytes())) return std::nullopt;
  if (entry.form == Entry::Form::whole) return Bytes(entry.o.bytes());
  return entry.collection == target.id() ? target.records().find(transaction, entry.record, base) : std::nullopt;
}

}  // namespace replication
