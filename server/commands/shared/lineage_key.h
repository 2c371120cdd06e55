// Finds the field that versions of one thing have in common and things have not:
// a page's id among revisions, a thread's among mails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bson/document.h"
#include "storage/engine/record_id.h"

namespace server {

struct LineageKey {
  std::string path;
  double agreement = 0;  // share of documents that have it in common with the one they resemble
  int64_t values = 0;    // different ones among the documents looked at
};

// Fed with documents and, for those that resemble an earlier one, which that was. Not thread-safe; memory bounded by
// 20,000 documents of 24 fields, beyond which no more are looked at.
class LineageKeyFinder {
 public:
  // `source`: of a document that was shown before.
  void add(storage::RecordId id, bson::DocumentView document, std::optional<storage::RecordId> source);

  // nullopt: no field is in nearly all documents, the same along nearly all resemblances, and different between
  // most things. `_id` is never one.
  std::optional<LineageKey> best() const;

 private:
  struct Field {
    std::string path;
    int64_t present = 0, compared = 0, same = 0;
    std::unordered_set<uint64_t> values;  // hashes
  };
  using Values = std::vector<std::pair<uint32_t, uint64_t>>;  // field, hash of its value

  void note(Values& values, const std::string& path, const bson::ValueView& value);
  static const uint64_t* find(const Values& values, uint32_t field);

  std::vector<Field> fields_;
  std::unordered_map<storage::RecordId, Values> documents_;
  int64_t resembling_ = 0;
};

}  // namespace server
