#include "server/query/exec/metadata.h"

#include "server/query/exec/sort_merge.h"
#include "storage/collections/clustered.h"
#include "storage/indexes/index_keys.h"

namespace server::query::exec {

namespace {

using plan::Access;

using IndexPtr = std::shared_ptr<const storage::Index>;

bson::Value index_key(Stage& stage, const IndexPtr& index) {
  if (!index || stage.key().empty()) return {};
  return bson::Value(storage::index_key_values(index->stored().spec(), stage.document(), stage.key()));
}

// Returns the index of whose entries the access tells the keys; nullptr: it tells none.
IndexPtr index_of(const Parts& parts, const Access& access) {
  const bool has_keys = access.kind == Access::Kind::index && !storage::is_clustered_index(*parts.collection, *access.index);
  return has_keys ? access.index : nullptr;
}

// Returns the indexes of branches that are merged, in their order.
std::vector<IndexPtr> merged_indexes(const Parts& parts, const Access& access) {
  std::vector<IndexPtr> indexes;
  if (access.kind != Access::Kind::any_of || !access.sorted) return indexes;
  for (const Access& branch : access.branches) indexes.push_back(index_of(parts, branch));
  return indexes;
}

}  // namespace

void write_metadata(Stage& stage, const Parts& parts, const Access& access) {
  const bool by_id = access.kind == Access::Kind::id;
  const bool branches_write = access.kind == Access::Kind::any_of && !access.sorted;
  stage.when_advanced([&place = *parts.metadata, &sort = parts.sort, index = index_of(parts, access),
                       merged = merged_indexes(parts, access), by_id, branches_write](Stage& advanced) {
    if (place.wants(MetaField::record_id)) {
      place.current.record_id = advanced.record() != 0 ? bson::Value(static_cast<int64_t>(advanced.record())) : bson::Value();
    }
    if (place.wants(MetaField::index_key) && by_id) {
      place.current.index_key = bson::Value(bson::Builder().append_element(advanced.document().find("_id")).done());
    } else if (place.wants(MetaField::index_key) && !branches_write) {
      const auto* merge = merged.empty() ? nullptr : dynamic_cast<const SortMerge*>(&advanced);
      place.current.index_key = index_key(advanced, merge ? merged[merge->branch()] : index);
    }
    if (place.wants(MetaField::sort_key) && !sort.empty()) place.current.sort_key = sort.values(advanced.document());
  });
}

void write_index_key(Stage& stage, const Parts& parts, const Access& access) {
  stage.when_advanced([&place = *parts.metadata, index = index_of(parts, access)](Stage& advanced) {
    if (place.wants(MetaField::index_key)) place.current.index_key = index_key(advanced, index);
  });
}

}  // namespace server::query::exec
