#include "server/query/plan/index_filters.h"

#include <algorithm>

#include "bson/compare.h"
#include "server/query/query_shape.h"

namespace server::query {

bool IndexFilter::allows(const storage::IndexSpec& index) const {
  return std::find(names.begin(), names.end(), index.name) != names.end() ||
         std::any_of(keys.begin(), keys.end(),
                     [&](const bson::Document& key) { return bson::compare(key.view(), index.key.view()) == 0; });
}

std::shared_ptr<const IndexFilter> IndexFilters::find(uint32_t collection, const bson::Document& filter,
                                                      const bson::Document& sort, const bson::Document& projection,
                                                      const bson::Collator* collator) const {
  if (!any_.load(std::memory_order_relaxed)) return nullptr;
  const base::ReaderLock lock(mutex_);
  const auto shapes = collections_.find(collection);
  if (shapes == collections_.end()) return nullptr;
  const auto found = shapes->second.find(query_shape(filter, sort, projection, collator));
  return found == shapes->second.end() ? nullptr : found->second;
}

void IndexFilters::set(uint32_t collection, std::string shape, IndexFilter filter) {
  const base::WriterLock lock(mutex_);
  any_ = true;
  collections_[collection].insert_or_assign(std::move(shape), std::make_shared<const IndexFilter>(std::move(filter)));
}

void IndexFilters::clear(uint32_t collection, std::string_view shape) {
  const base::WriterLock lock(mutex_);
  const auto shapes = collections_.find(collection);
  if (shapes == collections_.end()) return;
  if (const auto found = shapes->second.find(shape); found != shapes->second.end()) shapes->second.erase(found);
  if (shapes->second.empty()) collections_.erase(shapes);
  any_ = !collections_.empty();
}

void IndexFilters::clear(uint32_t collection) {
  const base::WriterLock lock(mutex_);
  collections_.erase(collection);
  any_ = !collections_.empty();
}

std::vector<std::shared_ptr<const IndexFilter>> IndexFilters::list(uint32_t collection) const {
  const base::ReaderLock lock(mutex_);
  std::vector<std::shared_ptr<const IndexFilter>> all;
  const auto shapes = collections_.find(collection);
  if (shapes == collections_.end()) return all;
  for (const auto& [shape, filter] : shapes->second) all.push_back(filter);
  return all;
}

}  // namespace server::query
