// Index filters say which indexes the planner may use for queries of one shape. planCacheSetFilter sets them, and they last as
// long as the process and the collection.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "bson/document.h"
#include "storage/indexes/index.h"

namespace server::query {

struct IndexFilter {
  bson::Document filter, sort, projection;  // those of the query with which it was set
  bson::CollatorPtr collator;
  std::vector<bson::Document> keys;  // the indexes by their keys …
  std::vector<std::string> names;    // … or by their names

  bool allows(const storage::IndexSpec& index) const;
};

// They belong to collections by id, and to shapes as query_shape() writes them. Thread-safe.
class IndexFilters {
 public:
  // Returns nullptr if there is none for this shape. It is cheap if nobody has set any.
  std::shared_ptr<const IndexFilter> find(uint32_t collection, const bson::Document& filter, const bson::Document& sort,
                                          const bson::Document& projection, const bson::Collator* collator) const;
  void set(uint32_t collection, std::string shape, IndexFilter filter);
  void clear(uint32_t collection, std::string_view shape);
  void clear(uint32_t collection);
  // Returns a collection's filters in the order of their shapes.
  std::vector<std::shared_ptr<const IndexFilter>> list(uint32_t collection) const;

 private:
  using Shapes = std::map<std::string, std::shared_ptr<const IndexFilter>, std::less<>>;
  std::atomic<bool> any_{false};
  mutable base::SharedMutex mutex_;
  std::map<uint32_t, Shapes> collections_ GUARDED_BY(mutex_);
};

}  // namespace server::query
