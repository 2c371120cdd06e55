// ShownBy says for validate which branches, commits and snapshots show documents that can't be read.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "storage/collections/stored_collection.h"
#include "storage/upkeep/damaged_documents.h"

namespace versions {

class Databases;
namespace past {
class Past;
}

struct ShownBy {
  std::vector<std::string> databases;  // "shop", "shop@dev", "shop@v1", "shop@before", "shop@dev@before"
  std::vector<std::string> commits;    // ids, newest first, at most commits_max
  size_t more_commits = 0;             // so many other commits show the document
  static constexpr size_t commits_max = 100;
};

// Fills in who shows the damaged documents of the collection. A snapshot counts if the document can't be read there. Adds to
// `damaged` what snapshots alone show and can't read, at most `count_max` documents together. Where the rows that say who shows
// what are damaged, the answer may lack names. Calls `interrupted` now and then, which may throw. Must not be called inside a
// transaction.
std::map<storage::RecordId, ShownBy> shown_by(Databases& databases, past::Past& past,
                                              const std::shared_ptr<storage::StoredCollection>& collection,
                                              std::vector<storage::DamagedDocument>& damaged, size_t count_max,
                                              const std::function<void()>& interrupted);

}  // namespace versions
