#include "storage/indexes/located_keys.h"

#include <unordered_set>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "geo/cells.h"
#include "storage/indexes/shown_id.h"

namespace storage {
namespace {

using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

// The values of several fields multiply, so a document of a few megabytes could have billions of keys.
constexpr size_t keys_max = 100'000;

// Keeps one of the values that are the same in a key.
void drop_repeated(std::vector<Value>& values, const IndexField& field, const bson::Collator* collator) {
  if (values.size() < 2) return;
  std::unordered_set<Bytes> known;
  std::erase_if(values, [&](const Value& value) {
    bson::KeyString text;
    text.append(value, field.descending, collator);
    return !known.insert(std::move(text).bytes()).second;
  });
}

// Collects what lies at the path. Arrays on the way are taken apart, and an array at the end, which may be a point, isn't.
void collect(const ValueView& at, std::string_view path, std::vector<ValueView>& out) {
  const std::string_view component = path.substr(0, path.find('.'));
  const Element value = at.as_document().find(component);
  if (!value.exists()) return;
  if (component.size() == path.size()) return out.push_back(value);
  const std::string_view rest = path.substr(component.size() + 1);
  if (value.is_object()) return collect(value, rest, out);
  if (!value.is_array()) return;
  for (const Element& element : value.as_document()) {
    if (element.is_object()) collect(element, rest, out);
  }
}

std::vector<Value> sphere_values(const IndexSpec& spec, const std::vector<ValueView>& found, DocumentView document) {
  std::vector<Value> keys;
  for (const ValueView& value : found) {
    if (value.is_nullish()) continue;
    try {
      for (Value& key : geo::sphere_keys(geo::Geometry::parse(value), *spec.geo)) keys.push_back(std::move(key));
    } catch (const base::OperationError& error) {
      throw base::OperationError(16755, "Can't extract geo keys: " + bson::to_shell(document) + "  " + error.what());
    }
  }
  return keys;
}

Value flat_value(const IndexSpec& spec, const ValueView& location) {
  const DocumentView pair = location.as_document();
  auto it = pair.begin();
  double coordinates[2];
  for (int i = 0; i < 2; ++i, ++it) {
    if (it == pair.end())
      throw base::OperationError(i == 0 ? 13067 : 13068, i == 0 ? "geo field is empty" : "geo field only has 1 element");
    if (!it->is_number()) throw base::OperationError(13026, "geo values must be 'legacy coordinate pairs' for 2d indexes");
    coordinates[i] = it->to_double();
  }
  return geo::flat_key({coordinates[0], coordinates[1]}, *spec.geo);
}

// A value is a point or an array of points.
std::vector<Value> flat_values(const IndexSpec& spec, const std::vector<ValueView>& found) {
  std::vector<Value> keys;
  for (const ValueView& value : found) {
    if ((!value.is_object() && !value.is_array()) || value.as_document().empty()) continue;
    const bool several = value.is_array() && !value.as_document().first().is_number();
    if (!several) {
      keys.push_back(flat_value(spec, value));
      continue;
    }
    for (const Element& one : value.as_document()) {
      if (!one.is_object() && !one.is_array())
        throw base::OperationError(13654, "location object expected, location array not in correct format");
      if (!one.as_document().empty()) keys.push_back(flat_value(spec, one));
    }
  }
  return keys;
}

}  // namespace

std::vector<LocatedKey> located_keys(const IndexSpec& spec, DocumentView document, uint32_t& multikey_fields, size_t bytes_max) {
  std::vector<std::vector<Value>> values;
  bool located = false;
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    const IndexField& field = spec.fields[i];
    auto& of_field = values.emplace_back();
    if (!field.located()) {
      const FieldValues found = field_values(field, document);
      for (const ValueView& value : found.values) of_field.emplace_back(value);
      if (found.array) multikey_fields |= uint32_t{1} << i;
      continue;
    }
    std::vector<ValueView> found;
    collect(ValueView(bson::Type::object, document.bytes()), field.path, found);
    of_field = spec.geo->sphere ? sphere_values(spec, found, document) : flat_values(spec, found);
    if (of_field.size() > 1) multikey_fields |= uint32_t{1} << i;
    located = located || !of_field.empty();
    if (of_field.empty()) of_field.push_back(Value::null());
  }
  // The first version of "2dsphere" has documents without locations, too.
  if (!located && !(spec.geo->sphere && spec.geo->version == 1 && !spec.sparse)) return {};
  const auto refuse = [&] {
    throw base::OperationError(base::ErrorCode::cannot_build_index_keys,
                               "Insert of geo object exceeded maximum number of generated keys: " + shown_id(document));
  };
  size_t count = 1, bytes = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    drop_repeated(values[i], spec.fields[i], spec.collator.get());
    if (values[i].size() > keys_max / count) refuse();
    // Each combination of the other fields' values stands beside each value of this one.
    size_t own_bytes = 0;
    for (const Value& value : values[i]) own_bytes += value.view().bytes().size();
    bytes = bytes * values[i].size() + own_bytes * count;
    if (bytes > bytes_max) refuse();
    count *= values[i].size();
  }
  std::vector<LocatedKey> keys(1);
  std::vector<bson::KeyString> texts(1);
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<LocatedKey> longer;
    std::vector<bson::KeyString> longer_texts;
    for (size_t k = 0; k < keys.size(); ++k) {
      for (const Value& value : values[i]) {
        bson::KeyString text = texts[k];
        text.append(value, spec.fields[i].descending, spec.collator.get());
        longer_texts.push_back(std::move(text));
        longer.push_back(keys[k]);
        longer.back().values.push_back(value);
      }
    }
    keys = std::move(longer);
    texts = std::move(longer_texts);
  }
  for (size_t k = 0; k < keys.size(); ++k) keys[k].bytes = std::move(texts[k]).bytes();
  return keys;
}

}  // namespace storage
