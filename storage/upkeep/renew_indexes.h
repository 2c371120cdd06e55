// Indexes are made of the documents, so a damaged one is built anew.
#pragma once

#include <set>
#include <string>

namespace storage {

class Store;

class IndexRenewal {
 public:
  explicit IndexRenewal(Store& store) : store_(store) {}

  // Rebuilds the indexes of each collection that has an index whose damage a read or write has met, and logs it. Where that can't
  // be done (the documents are damaged too, or there are branches or declared snapshots), the log names the repair instead, once.
  // One thread calls this at a time. Returns how many collections got new indexes.
  int run();

 private:
  Store& store_;
  std::set<std::string> given_up_;  // tables
};

}  // namespace storage
