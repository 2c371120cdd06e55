#include "replication/logged_documents.h"

#include <unordered_map>

#include "base/error.h"
#include "bson/keystring.h"

namespace replication {
namespace {

using base::Bytes;
using storage::LoggedDocument;
using storage::LoggedEntry;
using storage::RecordId;
using storage::Stamp;

Bytes key_of(const bson::ValueView& id, const bson::Collator* collator) {
  bson::KeyString key;
  key.append(id, false, collator);
  return Bytes(key.bytes());
}

const bson::Collator* collator_of_ids(const storage::Collection& collection) {
  for (const auto& index : collection.indexes()) {
    if (index->is_id()) return index->spec().collator.get();
  }
  return nullptr;
}

// Follows the lost documents through the entries, oldest first.
class Walk {
 public:
  struct Followed {
    std::vector<Stamp> entries;
    std::string why_not = "the log has no entry of it";
  };
  std::map<RecordId, Followed> found;

  Walk(const std::vector<storage::DamagedDocument>& lost, const bson::Collator* collator) : collator_(collator) {
    for (const storage::DamagedDocument& document : lost) {
      if (document.id.empty() && document.key.empty()) continue;
      by_id_[document.id.empty() ? document.key : key_of(document.id["_id"], collator)] = document.record;
      found[document.record];
    }
  }

  void meet(const LoggedEntry& entry) {
    using Kind = LoggedEntry::Kind;
    if (entry.kind == Kind::command) return;
    Followed* const document = entry.kind == Kind::names ? of_record(entry.record) : of_id(entry);
    if (!document) return;
    if (entry.kind == Kind::names) {
      *document = {{}, "the log's newest entry of it, " + storage::text_of(entry.stamp) + ", only names its content"};
    } else if (entry.kind == Kind::removes) {
      *document = {{}, "the log's newest entry of it, " + storage::text_of(entry.stamp) + ", is its removal"};
    } else if (entry.kind == Kind::has) {
      *document = {{entry.stamp}, {}};
    } else if (!document->entries.empty()) {
      document->entries.push_back(entry.stamp);
    } else {
      *document = {{}, "the log doesn't have the content that its entry " + storage::text_of(entry.stamp) + " changed"};
    }
  }

  // Entries that can't be read may be newer than what was found so far.
  void meet_hole(const std::string& why) {
    for (auto& [record, document] : found) document = {{}, why};
  }

 private:
  Followed* of_record(RecordId record) {
    const auto at = found.find(record);
    return at == found.end() ? nullptr : &at->second;
  }
  Followed* of_id(const LoggedEntry& entry) {
    const auto id = entry.with_id.find("_id");
    if (!id.exists()) return nullptr;
    const auto at = by_id_.find(key_of(id, collator_));
    return at == by_id_.end() ? nullptr : of_record(at->second);
  }

  const bson::Collator* const collator_;
  std::unordered_map<Bytes, RecordId> by_id_;
};

}  // namespace

std::map<RecordId, LoggedDocument> LoggedDocuments::find(const storage::Collection& collection,
                                                         const std::vector<storage::DamagedDocument>& lost,
                                                         const std::function<void()>& interrupted) {
  Walk walk(lost, collator_of_ids(collection));
  const Bytes uuid = collection.uuid_bytes();
  log_.walk(
      [&](const LoggedEntry& entry) {
        if (entry.uuid == base::BytesView(uuid)) walk.meet(entry);
      },
      [&](const std::string& why) { walk.meet_hole(why); }, interrupted);
  std::map<RecordId, LoggedDocument> logged;
  for (auto& [record, followed] : walk.found) {
    logged[record] = {followed.entries.empty() ? 0 : followed.entries.back(), std::move(followed.why_not)};
    entries_[record] = std::move(followed.entries);
  }
  return logged;
}

base::Result<Bytes> LoggedDocuments::content(RecordId record, const std::function<void()>& interrupted) {
  constexpr size_t ask_every = 256;
  std::optional<bson::Document> made;
  size_t changes = 0;
  for (const Stamp stamp : entries_.at(record)) {
    if (interrupted && ++changes % ask_every == 0) interrupted();
    made = log_.after(stamp, made);
    if (!made) break;
  }
  if (!made)
    return base::Failure{base::ErrorCode::data_corruption_detected, "the log's entries of it don't make a document of that _id"};
  return Bytes(made->bytes());
}

}  // namespace replication
