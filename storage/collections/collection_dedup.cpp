#include "bson/compare.h"
#include "bson/path.h"
#include "storage/collections/collection.h"

namespace storage {

CollectionDedup read_dedup_options(bson::DocumentView options) {
  CollectionDedup dedup;
  const auto given = options["dedup"];
  if (!given.is_object()) return dedup;
  const bson::DocumentView fields = given.as_document();
  if (const auto enabled = fields["enabled"]; enabled.type() == bson::Type::boolean) dedup.enabled = enabled.as_bool();
  if (const auto profile = fields["profile"]; profile.is_string()) dedup.profile = profile.as_string();
  if (const auto key = fields["key"]; key.is_string()) dedup.key = key.as_string();
  return dedup;
}

dedup::Lineage lineage_of(const CollectionDedup& options, bson::DocumentView document) {
  if (options.key.empty()) return dedup::no_lineage;
  const auto value = bson::value_at(document, options.key);
  return value.is_nullish() ? dedup::no_lineage : bson::hash_value(value) | 1;
}

}  // namespace storage
