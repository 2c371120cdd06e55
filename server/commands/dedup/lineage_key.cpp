#include "server/commands/dedup/lineage_key.h"

#include <algorithm>

#include "bson/compare.h"

namespace server {

namespace {

constexpr size_t documents_max = 20'000;
constexpr size_t fields_max = 24;
constexpr size_t text_bytes_max = 200;
constexpr double present_min = 0.95;
constexpr double agreement_min = 0.8;  // different things resemble each other, too
constexpr int64_t compared_min = 20;
constexpr int64_t values_min = 4;

// A measure, a time or a flag names no thing.
bool may_name(const bson::ValueView& value) {
  switch (value.type()) {
    case bson::Type::string: return value.as_string().size() <= text_bytes_max;
    case bson::Type::int32:
    case bson::Type::int64:
    case bson::Type::object_id: return true;
    case bson::Type::binary: return value.as_binary().bytes.size() <= 32;
    default: return false;
  }
}

}  // namespace

void LineageKeyFinder::note(Values& values, const std::string& path, const bson::ValueView& value) {
  if (values.size() == fields_max || !may_name(value)) return;
  auto field = std::find_if(fields_.begin(), fields_.end(), [&](const Field& one) { return one.path == path; });
  if (field == fields_.end()) {
    if (fields_.size() == fields_max) return;
    field = fields_.insert(field, Field{.path = path, .values = {}});
  }
  const uint64_t hash = bson::hash_value(value);
  ++field->present;
  field->values.insert(hash);
  values.emplace_back(static_cast<uint32_t>(field - fields_.begin()), hash);
}

const uint64_t* LineageKeyFinder::find(const Values& values, uint32_t field) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first == field; });
  return found == values.end() ? nullptr : &found->second;
}

void LineageKeyFinder::add(storage::RecordId id, bson::DocumentView document, std::optional<storage::RecordId> source) {
  if (documents_.size() == documents_max) return;
  Values values;
  for (const auto& field : document) {
    if (field.name == "_id") continue;
    if (field.is_object()) {
      for (const auto& inner : field.as_document()) note(values, std::string(field.name) + "." + std::string(inner.name), inner);
    } else {
      note(values, std::string(field.name), field);
    }
  }
  const auto resembled = source ? documents_.find(*source) : documents_.end();
  if (resembled != documents_.end()) {
    ++resembling_;
    for (const auto& [field, hash] : values) {
      const uint64_t* other = find(resembled->second, field);
      if (!other) continue;
      ++fields_[field].compared;
      fields_[field].same += *other == hash;
    }
  }
  documents_.emplace(id, std::move(values));
}

std::optional<LineageKey> LineageKeyFinder::best() const {
  const auto documents = static_cast<int64_t>(documents_.size());
  const int64_t things = documents - resembling_;  // the first ones of their chains
  std::optional<LineageKey> best;
  for (const Field& field : fields_) {
    if (field.compared < compared_min || static_cast<double>(field.present) < present_min * static_cast<double>(documents))
      continue;
    const double agreement = static_cast<double>(field.same) / static_cast<double>(field.compared);
    const auto values = static_cast<int64_t>(field.values.size());
    if (agreement < agreement_min || values < std::max(values_min, things / 2)) continue;
    // Among equals, the field with the most values wins.
    if (!best || std::pair(agreement, values) > std::pair(best->agreement, best->values))
      best = LineageKey{field.path, agreement, values};
  }
  return best;
}

}  // namespace server
