#include "server/query/sort_pattern.h"

#include <algorithm>

#include "base/error.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "server/core/allowance.h"
#include "server/core/text.h"
#include "server/query/field_path.h"
#include "server/query/key_values.h"

namespace server::query {

namespace {

using base::ErrorCode;
using base::OperationError;

constexpr size_t fields_max = 32;

bool parse_direction(const bson::Element& element) {
  if (element.is_object()) throw OperationError(17312, "$meta is the only expression supported by $sort right now");
  if (!element.is_number()) throw OperationError(15974, "Illegal key in $sort specification: " + show_element(element));
  const double direction = element.to_double();
  if (direction != 1 && direction != -1) {
    throw OperationError(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
  }
  return direction < 0;
}

bool is_meta(const bson::Element& element) {
  return element.is_object() && element.as_document().first().name == "$meta";
}

MetaField parse_meta(bson::DocumentView meta, const MetadataPlace* metadata) {
  if (meta.count() > 1)
    throw OperationError(ErrorCode::failed_to_parse, "Cannot have additional keys in a $meta sort specification");
  const auto field = meta.first().is_string() ? meta_field(meta.first().as_string()) : std::nullopt;
  if (field != MetaField::text_score && field != MetaField::near_distance)
    throw OperationError(31138, "Illegal $meta sort: " + show_element(meta.first()));
  check_offered(*field, metadata);
  return *field;
}

// Returns the value of a path that meets no array; nullopt if it meets one.
std::optional<bson::ValueView> plain_value(bson::DocumentView document, std::string_view path) {
  for (;;) {
    const size_t dot = path.find('.');
    const bson::Element element = document.find(path.substr(0, dot));
    if (element.is_array()) return std::nullopt;
    if (dot == path.npos && element.exists()) return element;
    if (dot == path.npos) return bson::ValueView(bson::Type::null, {});
    if (!element.is_object()) return bson::ValueView(bson::Type::null, {});
    document = element.as_document();
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

SortPattern SortPattern::parse(bson::DocumentView specification, bson::CollatorPtr collator,
                               const std::shared_ptr<MetadataPlace>& metadata) {
  SortPattern pattern;
  pattern.collator_ = std::move(collator);
  for (const bson::Element& element : specification) {
    if (element.name == "$natural") {
      throw OperationError(ErrorCode::bad_value, "Cannot include '$natural' in compound sort: " + show(specification));
    }
    check_field_path(element.name);
    const auto same = [&](const SortField& field) { return field.path == element.name; };
    if (std::any_of(pattern.fields_.begin(), pattern.fields_.end(), same)) {
      throw OperationError(7472500, "sort key must not contain duplicate keys (field: '" + std::string(element.name) + "')");
    }
    if (is_meta(element)) {
      const MetaField field = parse_meta(element.as_document(), metadata.get());
      metadata->want(field);
      pattern.metadata_ = metadata;
      pattern.fields_.push_back({.path = std::string(element.name), .descending = true, .meta = field});
      continue;
    }
    pattern.fields_.push_back({.path = std::string(element.name), .descending = parse_direction(element)});
  }
  if (pattern.fields_.size() > fields_max) throw OperationError(13103, "too many compound keys");
  return pattern;
}

bson::Bytes SortPattern::key(bson::DocumentView document, Allowance* allowance) const {
  bson::KeyString key;
  for (const SortField& field : fields_) {
    if (field.meta) {
      key.append(meta(field), field.descending);
      continue;
    }
    const auto value = plain_value(document, field.path);
    if (!value) return array_key(document, nullptr, allowance);
    key.append(*value, field.descending, collator_.get());
  }
  return std::move(key).bytes();
}

// Returns the first key in the sort's order: the smallest element ascending, the largest descending.
bson::Bytes SortPattern::array_key(bson::DocumentView document, bson::Document* values_out, Allowance* allowance) const {
  std::vector<std::string_view> paths;
  for (const SortField& field : fields_) paths.push_back(field.meta ? std::string_view("$meta") : field.path);
  std::optional<bson::Bytes> least;
  const bool one_array = visit_keys(document, paths, [&](std::span<const bson::ValueView> values) {
    bson::KeyString key;
    for (size_t i = 0; i < values.size(); ++i) {
      if (fields_[i].meta) {
        key.append(meta(fields_[i]), fields_[i].descending);
      } else {
        key.append(values[i], fields_[i].descending, collator_.get());
      }
    }
    if (allowance) allowance->work_on(key.bytes().size());
    if (least && !(key.bytes() < *least)) return;
    least = std::move(key).bytes();
    if (values_out) *values_out = shown(values);
  });
  if (!one_array) throw OperationError(ErrorCode::bad_value, "cannot sort with keys that are parallel arrays");
  return *std::move(least);
}

bson::Value SortPattern::meta(const SortField& field) const {
  const DocumentMetadata& metadata = metadata_->current;
  return bson::Value(field.meta == MetaField::text_score ? metadata.text_score : metadata.near_distance);
}

bson::Document SortPattern::shown(std::span<const bson::ValueView> values) const {
  bson::Builder out;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string name = std::to_string(i);
    if (fields_[i].meta) {
      out.append(name, meta(fields_[i]));
    } else if (!values[i].exists()) {
      out.append(name, bson::Value::null());
    } else if (collator_ && bson::is_collatable(values[i].type())) {
      out.append(name, bson::collated(values[i], *collator_));
    } else {
      out.append(name, values[i]);
    }
  }
  return out.done();
}

bson::Value SortPattern::values(bson::DocumentView document, Allowance* allowance) const {
  std::vector<bson::ValueView> plain;
  for (const SortField& field : fields_) {
    const auto value = field.meta ? std::optional(bson::ValueView()) : plain_value(document, field.path);
    if (!value) {
      bson::Document values;
      array_key(document, &values, allowance);
      return bson::Value::array(std::move(values));
    }
    plain.push_back(*value);
  }
  return bson::Value::array(shown(plain));
}

}  // namespace server::query
