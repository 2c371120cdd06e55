// Index filters: for queries of one shape, which indexes the planner may use. Set by planCacheSetFilter, gone with the process or
// the collection.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"
#include "storage/indexes/index.h"

namespace server::query {

struct IndexFilter {
  bson::Document filter, sort, projection;  // of the query it was set with
  std::vector<bson::Document> keys;         // indexes by their key …
  std::vector<std::string> names;           // … or by their name

  bool allows(const storage::IndexSpec& index) const;
};

// Of collections by their id, and of shapes as query_shape() writes them. Thread-safe.
class IndexFilters {
 public:
  // nullptr: there is none for this shape. Cheap where nobody has set any.
  std::shared_ptr<const IndexFilter> find(uint32_t collection, const bson::Document& filter, const bson::Document& sort,
                                          const bson::Document& projection) const;
  void set(uint32_t collection, std::string shape, IndexFilter filter);
  void clear(uint32_t collection, std::string_view shape);
  void clear(uint32_t collection);
  // In the order of their shapes.
  std::vector<std::shared_ptr<const IndexFilter>> list(uint32_t collection) const;

 private:
  using Shapes = std::map<std::string, std::shared_ptr<const IndexFilter>, std::less<>>;
  std::atomic<bool> any_{false};
  mutable std::shared_mutex mutex_;
  std::map<uint32_t, Shapes> collections_;
};

}  // namespace server::query
