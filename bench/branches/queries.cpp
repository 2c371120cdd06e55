#include "bench/branches/queries.h"

#include <unordered_map>

#include "base/hash.h"

namespace bench::branches {

using namespace versions;

namespace {

// The filter selects four fifths, so that scans stay scans.
bool wanted(base::BytesView record) {
  return static_cast<uint64_t>(bson::DocumentView(record)["c0"].as_int64()) % 5 != 0;
}

void count(Found& found, base::BytesView record) {
  ++found.records;
  found.sum += base::hash64(record);
}

}  // namespace

Found run_query(Dataset& data, size_t query) {
  Repository& repository = data.repository;
  BranchStore& store = repository.store();
  storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
  const View one = repository.view(transaction, data.scanned), other = repository.view(transaction, data.compared);
  Found found;
  switch (query) {
    case 1: {
      const auto scan = store.scan(transaction, one);
      while (scan->next()) count(found, scan->content());
      break;
    }
    case 2: {
      const auto scan = store.scan_set(transaction, store.diff(transaction, one, other).only_a);
      while (scan->next()) count(found, scan->content());
      break;
    }
    case 3: {  // a hash join by key
      std::unordered_map<base::Bytes, uint64_t> left;
      auto scan = store.scan(transaction, one);
      while (scan->next()) {
        if (wanted(scan->content())) left.emplace(key_of(scan->content()), base::hash64(scan->content()));
      }
      scan = store.scan(transaction, other);
      while (scan->next()) {
        const auto match = left.find(key_of(scan->content()));
        if (match == left.end()) continue;
        count(found, scan->content());
        found.sum += match->second;
      }
      break;
    }
    default: {
      std::vector<View> heads;
      for (const std::string& name : data.heads) heads.push_back(repository.view(transaction, name));
      const auto scan = store.scan_many(transaction, heads);
      while (scan->next()) {
        if (!wanted(scan->content())) continue;
        uint64_t shown = 0;
        for (const uint64_t word : scan->shown_in()) shown = shown * 31 + word;
        count(found, scan->content());
        found.sum += shown;
      }
    }
  }
  return found;
}

}  // namespace bench::branches
