// This is a collection of documents of 1 KB with one field that changes, and its past. Nothing runs in the background.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "bson/document.h"
#include "storage/collections/stored_collection.h"
#include "storage/store.h"
#include "versions/database/past_views.h"

namespace bench::past {

namespace vp = versions::past;

class Documents {
 public:
  static constexpr size_t batch = 1'000;  // the updates of a transaction, and of one snapshot

  // Opens it in the folder, which is made.
  Documents(const std::string& path, size_t count);

  // Returns the CPU seconds of one transaction that changes the field of `batch` documents: the next in a circle, or those that
  // `pick` names.
  double update();
  double update(const std::function<size_t()>& pick);
  vp::DeclaredSnapshot declare();
  // Opens it again, with nothing in memory.
  void reopen();
  // Says whether the past is kept that snapshots show; without it, no snapshot may be declared.
  void attach_past(bool attached);

  storage::Collection& now() { return *collection_; }
  std::shared_ptr<storage::Collection> as_of(const vp::DeclaredSnapshot& snapshot);
  vp::Past& past() { return *past_; }
  storage::CollectionId id() const { return collection_->id(); }
  size_t size() const { return documents_.size(); }
  storage::Store& store() { return *store_; }

  // Returns the CPU seconds of finding so many documents by their _id, at random.
  double find(storage::Collection& collection, size_t reads);
  double find_us(storage::Collection& collection, int rounds);  // the time of one, the median of rounds
  double scan_ms(storage::Collection& collection, int rounds);
  int64_t file_bytes();          // of documents, the past and kept contents, less what is free in them
  uint64_t blocks_read() const;  // since it was opened

 private:
  void open();

  const std::string path_;
  base::Random random_;
  std::optional<storage::Store> store_;
  std::optional<vp::Past> past_;
  std::optional<versions::PastViews> views_;
  std::shared_ptr<storage::StoredCollection> collection_;
  std::vector<bson::Document> documents_;
  std::vector<storage::RecordId> records_;
  size_t next_ = 0;
};

}  // namespace bench::past
