#include "replication/logged_documents.h"

#include <unordered_map>

#include "base/error.h"
#include "bson/diff.h"
#include "bson/keystring.h"
#include "storage/engine/readable_rows.h"

namespace replication {
namespace {

using storage::LoggedDocument;
using storage::RecordId;
using storage::Stamp;

constexpr size_t ask_every = 256;
constexpr std::string_view log_table = "oplog";

std::string text_of(Stamp stamp) {
  return "Timestamp(" + std::to_string(stamp >> 32) + ", " + std::to_string(static_cast<uint32_t>(stamp)) + ")";
}

Bytes key_of(const bson::ValueView& id) {
  bson::KeyString key;
  key.append(id);
  return Bytes(key.bytes());
}

bool is_diff(const Entry& entry) {
  return entry.op == 'u' && entry.o2 && entry.o.has("$v");
}

// Follows the lost documents through the entries, oldest first.
class Walk {
 public:
  explicit Walk(const std::vector<storage::DamagedDocument>& lost) {
    for (const storage::DamagedDocument& document : lost) {
      if (document.id.empty()) continue;
      by_id_[key_of(document.id["_id"])] = document.record;
      found[document.record].why_not = "the log has no entry of it";
    }
  }

  std::map<RecordId, LoggedDocument> found;

  void meet(Stamp stamp, const Entry& entry) {
    if (entry.op != 'i' && entry.op != 'u' && entry.op != 'd') return;
    LoggedDocument* const document = entry.form == Entry::Form::named ? of_record(entry.record) : of_id(entry);
    if (!document) return;
    if (entry.form == Entry::Form::named) {
      *document = {{}, "the log's newest entry of it, " + text_of(stamp) + ", only names its content"};
    } else if (entry.op == 'd') {
      *document = {{}, "the log's newest entry of it, " + text_of(stamp) + ", is its removal"};
    } else if (!is_diff(entry)) {
      *document = {{stamp}, {}};
    } else if (!document->entries.empty()) {
      document->entries.push_back(stamp);
    } else {
      *document = {{}, "the log doesn't have the content that its entry " + text_of(stamp) + " changed"};
    }
  }

  // Entries that can't be read may be newer than what was found so far.
  void meet_hole(Stamp behind) {
    for (auto& [record, document] : found) document = {{}, "the log is damaged before its entry " + text_of(behind)};
  }
  void meet_damaged_end() {
    for (auto& [record, document] : found) document = {{}, "the end of the log is damaged"};
  }

 private:
  LoggedDocument* of_record(RecordId record) {
    const auto at = found.find(record);
    return at == found.end() ? nullptr : &at->second;
  }
  LoggedDocument* of_id(const Entry& entry) {
    const auto id = (entry.o2 ? *entry.o2 : entry.o).find("_id");
    if (!id.exists()) return nullptr;
    const auto at = by_id_.find(key_of(id));
    return at == by_id_.end() ? nullptr : of_record(at->second);
  }

  std::unordered_map<Bytes, RecordId> by_id_;
};

}  // namespace

std::map<RecordId, LoggedDocument> LoggedDocuments::find(const storage::Collection& collection,
                                                         const std::vector<storage::DamagedDocument>& lost,
                                                         const std::function<void()>& interrupted) {
  Walk walk(lost);
  const Bytes uuid = collection.uuid_bytes();
  storage::ReadableRows rows(store_, storage::Table(std::string(log_table)));
  int64_t holes = 0;
  size_t seen = 0;
  while (rows.next()) {
    if (interrupted && ++seen % ask_every == 0) interrupted();
    const Stamp stamp = stamp_from_key(rows.key());
    if (rows.holes() != std::exchange(holes, rows.holes())) walk.meet_hole(stamp);
    if (stamp == 0) continue;  // the log's own state
    const BytesView value = rows.value();
    const auto entry = decode(value);
    if (!entry) {
      walk.meet_hole(stamp);
    } else if (entry.value().uuid == BytesView(uuid)) {
      walk.meet(stamp, entry.value());
    }
  }
  if (rows.holes() != holes) walk.meet_damaged_end();
  return std::move(walk.found);
}

std::optional<Bytes> LoggedDocuments::content(const LoggedDocument& logged) {
  std::optional<bson::Document> made;
  for (const Stamp stamp : logged.entries) {
    const auto row = oplog_.row(stamp);
    if (!row) return std::nullopt;  // it was cut off meanwhile
    const auto decoded = decode(*row);
    if (!decoded || decoded.value().form != Entry::Form::whole) return std::nullopt;
    const Entry& entry = decoded.value();
    if (!is_diff(entry)) {
      made = bson::Document(entry.o);
      continue;
    }
    const auto diff = entry.o["diff"];
    if (!made || !diff.is_object()) return std::nullopt;
    auto after = bson::diff::apply(*made, diff.as_document());
    if (!after) return std::nullopt;
    made = std::move(after.value());
  }
  return made ? std::optional(Bytes(made->bytes())) : std::nullopt;
}

}  // namespace replication
