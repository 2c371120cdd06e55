// This class finds the field that the versions of one thing have in common, and
// different things have not: a page's id among revisions, a thread's among mails.
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
  double agreement = 0;  // the share of documents that have the same value as the document that they resemble
  int64_t values = 0;    // the number of different values among the documents looked at
};

// The finder is fed with documents and, for those that resemble an earlier one, with the earlier one's id. It is not thread-safe.
// It looks at 20,000 documents of 24 fields at most, which bounds its memory.
class LineageKeyFinder {
 public:
  // `source` is the id of an earlier document.
  void add(storage::RecordId id, bson::DocumentView document, std::optional<storage::RecordId> source);

  // Returns nullopt unless a field is in nearly all documents, has the same value along nearly all resemblances, and different
  // values between most things. It is never `_id`.
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
