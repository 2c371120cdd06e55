#include "datasets/versioned_records.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/times.h"

namespace datasets {

void VersionedRecordsLoader::read_all() {
  struct Place {
    uint64_t parent;
    uint64_t at;
  };
  std::unordered_map<uint64_t, Place> commits;  // by hash of the commit's name
  uint64_t last = 0;
  while (auto commit = lines_.next()) {
    const bson::Element name = commit->find("commit");
    const bson::Element parents = commit->find("parents");
    if (!name.is_string() || !parents.is_array() || !commit->find("changes").is_array()) {
      lines_.complain("not a commit: commit, parents and changes are needed");
      continue;
    }
    const bson::Element first = parents.as_document().first();
    last = base::hash64(name.as_string());
    commits[last] = {first.is_string() ? base::hash64(first.as_string()) : 0, spool_.append(commit->bytes())};
  }
  for (auto found = commits.find(last); found != commits.end(); found = commits.find(found->second.parent)) {
    line_.push_back(found->second.at);
    if (line_.size() > commits.size()) throw InputError(lines_.name() + ": commits are their own ancestors");
  }
}

bool VersionedRecordsLoader::open_next_commit() {
  if (line_.empty()) return false;
  bson::Bytes bytes;
  spool_.read(line_.back(), bytes);
  line_.pop_back();
  commit_ = bson::Document(std::move(bytes));
  changes_ = commit_.find("changes").as_document();
  change_ = changes_.begin();
  const bson::Element stamp = commit_.find("timestamp");
  const auto time = parse_iso8601(stamp.is_string() ? stamp.as_string() : std::string_view());
  timestamp_ms_ = std::max(timestamp_ms_, time.value_or(0));
  return true;
}

std::optional<Item> VersionedRecordsLoader::next() {
  if (!std::exchange(read_, true)) read_all();
  for (;;) {
    for (; change_ != changes_.end();) {
      const bson::Element change = *change_;
      ++change_;
      auto item = change.is_object() ? change_item(change.as_document()) : std::nullopt;
      if (item) return item;
      lines_.complain("commit " + std::string(commit_.find("commit").as_string()) +
                      " has a change without op, coll, key or record");
    }
    if (!open_next_commit()) return std::nullopt;
    Item item;
    bson::Builder document;
    document.append("_id", commit_.find("commit").as_string());
    for (const bson::Element& field : commit_) {
      if (field.name == "timestamp")
        document.append("timestamp", bson::Date{timestamp_ms_});
      else if (field.name == "changes")
        document.append("changes", static_cast<int32_t>(changes_.count()));
      else if (field.name != "commit" && field.name != "_id")
        document.append_element(field);
    }
    item.collection = "commits";
    item.timestamp_ms = timestamp_ms_;
    item.group = 0;
    item.document = document.done();
    return item;
  }
}

std::optional<Item> VersionedRecordsLoader::change_item(const bson::DocumentView& change) {
  const bson::Element op = change["op"];
  const bson::Element collection = change["coll"];
  const bson::Element key = change["key"];
  const bson::Element record = change["record"];
  if (!op.is_string() || !collection.is_string() || collection.as_string().empty() || !key.exists()) return std::nullopt;
  Item item;
  if (op.as_string() == "insert")
    item.op = Item::Op::insert;
  else if (op.as_string() == "update")
    item.op = Item::Op::replace;
  else if (op.as_string() == "delete")
    item.op = Item::Op::remove;
  else
    return std::nullopt;
  if (item.op != Item::Op::remove && !record.exists()) return std::nullopt;

  bson::Builder document;
  document.append("_id", static_cast<bson::ValueView>(key));
  if (item.op != Item::Op::remove) {
    if (record.is_object() && !record.as_document().has("_id"))
      document.append_all(record.as_document());
    else
      document.append("record", static_cast<bson::ValueView>(record));
    item.text_bytes = record.bytes().size();
  }
  item.collection = std::string(collection.as_string());
  item.timestamp_ms = timestamp_ms_;
  item.group = base::hash64(key.bytes(), base::hash64(item.collection));
  item.document = document.done();
  return item;
}

}  // namespace datasets
