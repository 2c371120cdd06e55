#include "storage/indexes/index.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "bson/builder.h"
#include "bson/collation.h"
#include "bson/hashed_key.h"
#include "bson/json.h"
#include "bson/path.h"
#include "geo/index_options.h"
#include "storage/engine/engine_option.h"
#include "storage/indexes/index_options.h"
#include "storage/indexes/text_index.h"
#include "storage/indexes/wildcard_index.h"

namespace storage {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;
using bson::Type;

constexpr size_t fields_max = 32;
constexpr int64_t expire_seconds_max = INT32_MAX;

// Fields of index types that this server doesn't offer are known too, so that the error is about the type.
constexpr std::array<std::string_view, 26> known_fields = {"key",
                                                           "name",
                                                           "v",
                                                           "unique",
                                                           "sparse",
                                                           "hidden",
                                                           "expireAfterSeconds",
                                                           "background",
                                                           "ns",
                                                           "dropDups",
                                                           "collation",
                                                           "partialFilterExpression",
                                                           "weights",
                                                           "default_language",
                                                           "language_override",
                                                           "textIndexVersion",
                                                           "2dsphereIndexVersion",
                                                           "coarsestIndexedLevel",
                                                           "finestIndexedLevel",
                                                           "bits",
                                                           "min",
                                                           "max",
                                                           "wildcardProjection",
                                                           "prepareUnique",
                                                           "storageEngine",
                                                           "clustered"};

bool is_known(std::string_view name) {
  return std::find(known_fields.begin(), known_fields.end(), name) != known_fields.end();
}

[[noreturn]] void cannot(const std::string& message) {
  throw OperationError(ErrorCode::cannot_create_index, message);
}

[[noreturn]] void wrong_type(const Element& field, const std::string& wanted) {
  throw OperationError(ErrorCode::type_mismatch, "The field '" + std::string(field.name) + "' must be " + wanted + ", but got " +
                                                     std::string(bson::type_name(field.type())));
}

// The value null means the same as a missing field.
bool flag(const Element& field) {
  if (field.is_nullish()) return false;
  if (field.type() == Type::boolean) return field.as_bool();
  if (field.is_number()) return field.to_double() != 0;
  throw OperationError(ErrorCode::type_mismatch,
                       "The field '" + std::string(field.name) + "' has value " + std::string(field.name) + ": " +
                           bson::to_shell(static_cast<bson::ValueView>(field)) + ", which is not convertible to bool");
}

void check_path(std::string_view path) {
  if (path.empty()) cannot("Index keys cannot be an empty field.");
  if (!base::is_utf8(path)) cannot("Index key is not valid UTF-8");
  if (path.front() == '.' || path.back() == '.' || path.find("..") != path.npos) {
    cannot("Index keys cannot contain an empty field.");
  }
  bool first = true;
  for (const std::string_view component : bson::split_path(path)) {
    const bool reference = !first && (component == "$id" || component == "$ref" || component == "$db");
    if (component.front() == '$' && !reference) cannot("Index key contains an illegal field name: field name starts with '$'.");
    first = false;
  }
}

IndexField parse_field(const Element& field) {
  if (field.is_string()) {
    const std::string type(field.as_string());
    if (type == "hashed") {
      check_path(field.name);
      return {.path = std::string(field.name), .kind = FieldKind::hashed};
    }
    if (type == "text") return {.path = std::string(field.name), .kind = FieldKind::text};
    if (type == "2dsphere" || type == "2d") {
      check_path(field.name);
      return {.path = std::string(field.name), .kind = type == "2d" ? FieldKind::flat : FieldKind::sphere};
    }
    for (const char* known : {"geoHaystack", "columnstore"}) {
      if (type == known) cannot("Index type '" + type + "' is not supported");
    }
    if (type == "wildcard") {
      cannot("The key pattern value for an 'wildcard' index must be a non-zero number, not a string.");
    }
    cannot("Unknown index plugin '" + type + "'");
  }
  if (!field.is_number()) {
    cannot("Values in v:2 index key pattern cannot be of type " + std::string(bson::type_name(field.type())) +
           ". Only numbers > 0, numbers < 0, and strings are allowed.");
  }
  const double direction = field.to_double();
  if (std::isnan(direction)) cannot("Values in the index key pattern cannot be NaN.");
  if (direction == 0) cannot("Values in the index key pattern cannot be 0.");
  if (is_wildcard(field.name)) {
    if (field.name != "$**") check_path(field.name.substr(0, field.name.size() - 4));
    return {.path = std::string(field.name), .descending = direction < 0, .kind = FieldKind::wildcard};
  }
  check_path(field.name);
  return {.path = std::string(field.name), .descending = direction < 0};
}

void parse_key(const Element& key, IndexSpec& spec) {
  if (!key.is_object()) wrong_type(key, "an object");
  if (key.as_document().empty()) cannot("Index keys cannot be empty.");
  for (const Element& field : key.as_document()) {
    IndexField parsed = parse_field(field);
    for (const IndexField& earlier : spec.fields) {
      if (earlier.path == parsed.path) {
        throw OperationError(ErrorCode::bad_value, "The field '" + parsed.path +
                                                       "' appears multiple times in the index key pattern " +
                                                       bson::to_shell(key.as_document()));
      }
    }
    spec.fields.push_back(std::move(parsed));
  }
  spec.key = bson::Document(key.as_document());
  if (spec.fields.size() > fields_max) throw OperationError(13103, "too many compound keys");
  const auto hashed =
      std::count_if(spec.fields.begin(), spec.fields.end(), [](const IndexField& field) { return field.hashed(); });
  if (hashed > 1) {
    throw OperationError(31303, "A maximum of one index field is allowed to be hashed but found " + std::to_string(hashed) +
                                    " for 'key' " + bson::to_shell(key.as_document()));
  }
  if (hashed > 0 && is_text_key(spec.key)) cannot("Compound hashed indexes with 'text' fields are not supported");
}

// A "2dsphere" index may have several fields with locations, a "2d" index has one, which comes first.
void check_locations(const IndexSpec& spec) {
  const auto count = [&](FieldKind kind) {
    return std::count_if(spec.fields.begin(), spec.fields.end(), [&](const IndexField& field) { return field.kind == kind; });
  };
  const auto flat = count(FieldKind::flat);
  if (count(FieldKind::sphere) > 0 && count(FieldKind::ordered) + count(FieldKind::sphere) != std::ssize(spec.fields)) {
    throw OperationError(16826, "Cannot use 2dsphere index with other special index types: " + bson::to_shell(spec.key));
  }
  if (flat > 1) throw OperationError(16800, "can't have 2 geo fields");
  if (flat == 1 && spec.fields.front().kind != FieldKind::flat) throw OperationError(16801, "2d has to be first in index");
  if (flat == 1 && count(FieldKind::hashed) > 0)
    cannot("Index key pattern can't have both 2d and hashed: " + bson::to_shell(spec.key));
}

void settle_locations(IndexSpec& spec, DocumentView given) {
  const auto located =
      std::find_if(spec.fields.begin(), spec.fields.end(), [](const IndexField& field) { return field.located(); });
  if (located == spec.fields.end()) return;
  check_locations(spec);
  spec.geo = std::make_shared<const geo::IndexOptions>(geo::parse_index_options(given, located->kind == FieldKind::sphere));
  if (!spec.geo->sphere && spec.collator)
    cannot("Index type '2d' does not support collation: " + bson::to_shell(spec.collator->specification()));
}

// Appends the options of a geospatial index as they were given; a "2dsphere" index has its version in any case.
void show_locations(const IndexSpec& spec, DocumentView given, bson::Builder& out) {
  if (!spec.geo) return;
  if (!spec.geo->sphere) {
    for (const char* name : {"bits", "min", "max"}) {
      if (given.has(name)) out.append_element(given.find(name));
    }
    return;
  }
  for (const char* name : {"coarsestIndexedLevel", "finestIndexedLevel"}) {
    if (given.has(name)) out.append_element(given.find(name));
  }
  out.append("2dsphereIndexVersion", spec.geo->version);
}

void parse_name(const Element& name, IndexSpec& spec) {
  if (!name.is_string()) wrong_type(name, "a string");
  spec.name = name.as_string();
  if (spec.name.empty()) cannot("index name cannot be empty");
  if (spec.name.find('\0') != std::string::npos) cannot("index name cannot contain NUL bytes");
  if (!base::is_utf8(spec.name)) cannot("index name is not valid UTF-8");
  if (spec.name == "*") throw OperationError(ErrorCode::bad_value, "The index name '*' is not valid.");
}

void parse_version(const Element& v) {
  if (!v.is_number()) wrong_type(v, "a number");
  const int64_t version = v.to_int64();
  if (version != 2 && version != 1) {
    throw OperationError(ErrorCode::cannot_create_index,
                         "Invalid index specification; cannot create an index with v=" + std::to_string(version));
  }
}

void parse_expiry(const Element& seconds, IndexSpec& spec) {
  if (!seconds.is_number()) {
    cannot("TTL index 'expireAfterSeconds' option must be numeric, but received a type of " +
           std::string(bson::type_name(seconds.type())));
  }
  const double value = seconds.to_double();
  if (value < 0) cannot("TTL index 'expireAfterSeconds' option cannot be less than 0");
  if (std::isnan(value) || value > static_cast<double>(expire_seconds_max)) {
    cannot("TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different value");
  }
  spec.expire_after_seconds = seconds.to_int64();
}

void parse_collation(const Element& collation, IndexSpec& spec) {
  if (!collation.is_object()) wrong_type(collation, "an object");
  if (collation.as_document().empty())
    throw OperationError(ErrorCode::bad_value, "The field 'collation' cannot be an empty object.");
  spec.collator = bson::collator_of(collation.as_document());
}

void parse_option(const Element& field, IndexSpec& spec, DocumentView whole) {
  const std::string_view name = field.name;
  if (name == "key") return parse_key(field, spec);
  if (name == "name") return parse_name(field, spec);
  if (name == "v") return parse_version(field);
  if (name == "unique") return void(spec.unique = flag(field));
  if (name == "sparse") return void(spec.sparse = flag(field));
  if (name == "hidden") return void(spec.hidden = flag(field));
  if (name == "expireAfterSeconds") return parse_expiry(field, spec);
  if (name == "collation") return parse_collation(field, spec);
  if (name == "partialFilterExpression") {
    if (!field.is_object()) wrong_type(field, "an object");
    spec.partial_filter = bson::Document(field.as_document());
    return;
  }
  if (name == "storageEngine") {
    if (!field.is_object()) wrong_type(field, "an object");
    return check_engine_option(field.as_document());
  }
  if (name == "background") return void(flag(field));
  if (name == "clustered") {
    if (field.is_nullish()) return;
    if (!flag(field)) throw OperationError(6492800, "Value 'false' for field 'clustered' is invalid");
    if (!flag(whole.find("unique"))) cannot("The 'unique' field is required when 'clustered' is specified");
    return;
  }
  if (name == "prepareUnique") return void(flag(field));
  if (is_known(name)) return;
  throw OperationError(
      ErrorCode::invalid_index_specification_option,
      "The field '" + std::string(name) + "' is not valid for an index specification. Specification: " + bson::to_shell(whole));
}

bool is_id_pattern(const IndexSpec& spec) {
  return spec.fields.size() == 1 && spec.fields[0].path == "_id" && !spec.fields[0].descending &&
         spec.fields[0].kind == FieldKind::ordered;
}

bool is_clustered(DocumentView given) {
  return !given.find("clustered").is_nullish();
}

// The result is {v, key, name, …} with the options that were given; options that only repeat the default are left out. Both
// versions have the same keys.
bson::Document shown(const IndexSpec& spec, DocumentView given, bool has_filter) {
  bson::Builder out;
  const Element version = given.find("v");
  out.append("v", version.is_number() && version.to_int64() == 1 ? 1 : 2).append("key", spec.key).append("name", spec.name);
  if (!given.find("background").is_nullish()) out.append_element(given.find("background"));
  if (spec.unique && (spec.name != "_id_" || is_clustered(given))) out.append("unique", true);
  if (spec.sparse) out.append("sparse", true);
  if (spec.expire_after_seconds) out.append("expireAfterSeconds", static_cast<int32_t>(*spec.expire_after_seconds));
  if (has_filter) out.append("partialFilterExpression", spec.partial_filter);
  if (spec.wildcard && !spec.wildcard->projection.empty()) out.append("wildcardProjection", spec.wildcard->projection);
  if (spec.hidden) out.append("hidden", true);
  if (spec.text) append_text_options(given, spec, out);
  if (flag(given.find("prepareUnique"))) out.append("prepareUnique", true);
  if (spec.collator) out.append("collation", spec.collator->specification());
  if (is_clustered(given)) out.append("clustered", true);
  show_locations(spec, given, out);
  return out.done();
}

void check_clustered_fields(DocumentView given) {
  constexpr std::array<std::string_view, 8> allowed = {"key",    "name",      "v",         "ns",
                                                       "unique", "clustered", "collation", "expireAfterSeconds"};
  for (const Element& field : given) {
    if (std::find(allowed.begin(), allowed.end(), field.name) == allowed.end()) {
      throw OperationError(ErrorCode::invalid_index_specification_option,
                           "The field '" + std::string(field.name) +
                               "' is not valid for a clustered index specification. Specification: " + bson::to_shell(given));
    }
  }
}

void settle_id_index(IndexSpec& spec, DocumentView given) {
  if (is_clustered(given)) return;  // it keeps its name
  for (const Element& field : given) {
    const bool allowed =
        field.name == "key" || field.name == "name" || field.name == "v" || field.name == "ns" || field.name == "collation";
    if (!allowed) {
      throw OperationError(ErrorCode::invalid_index_specification_option,
                           "The field '" + std::string(field.name) +
                               "' is not valid for an _id index specification. Specification: " + bson::to_shell(given));
    }
  }
  spec.name = "_id_";
  spec.unique = true;
}

}  // namespace

bson::Document without_unknown_options(DocumentView spec) {
  bson::Builder out;
  for (const Element& field : spec) {
    if (is_known(field.name)) out.append_element(field);
  }
  return out.done();
}

int64_t hashed_field(const bson::ValueView& value, const bson::Collator* collator) {
  return bson::hashed_key(collator ? bson::collated(value, *collator).view() : value);
}

bson::Document with_default_collation(DocumentView spec, const bson::Collator* collator) {
  if (!collator || spec.has("collation")) return bson::Document(spec);
  bson::Builder out;
  out.append_all(spec).append("collation", collator->specification());
  return out.done();
}

IndexSpec parse_index_spec(DocumentView given) {
  IndexSpec spec;
  for (const char* required : {"key", "name"}) {
    if (!given.has(required)) {
      throw OperationError(ErrorCode::failed_to_parse,
                           "The '" + std::string(required) + "' field is a required property of an index specification");
    }
  }
  if (is_clustered(given)) check_clustered_fields(given);
  for (const Element& field : given) parse_option(field, spec, given);
  const bool wildcard = std::any_of(spec.fields.begin(), spec.fields.end(),
                                    [](const IndexField& field) { return field.kind == FieldKind::wildcard; });
  if (given.has("wildcardProjection") && (!wildcard || is_text_key(spec.key))) {
    throw OperationError(ErrorCode::bad_value, "The field 'wildcardProjection' is only allowed in 'wildcard' indexes");
  }
  if (is_text_key(spec.key)) parse_text_index(given, spec);
  const bool has_filter = given.has("partialFilterExpression");
  if (is_id_pattern(spec)) {
    settle_id_index(spec, given);
  } else if (spec.name == "_id_") {
    throw OperationError(
        ErrorCode::bad_value,
        "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found key: " +
            bson::to_shell(spec.key));
  }
  const bool hashed = std::any_of(spec.fields.begin(), spec.fields.end(), [](const IndexField& field) { return field.hashed(); });
  if (hashed && spec.unique) {
    throw OperationError(16764, "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.");
  }
  if (spec.unique && flag(given.find("prepareUnique"))) {
    cannot("Invalid index specification " + bson::to_shell(given) +
           "; cannot create an index with the 'unique' option and the 'prepareUnique' option");
  }
  if (wildcard && spec.text) cannot("Can't use more than one index plugin for a single index.");
  if (wildcard) parse_wildcard_index(given, spec);
  settle_locations(spec, given);
  if (has_filter && spec.sparse) cannot("cannot mix \"partialFilterExpression\" and \"sparse\" options");
  if (spec.expire_after_seconds && spec.fields.size() > 1) {
    cannot("TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: " + bson::to_shell(given));
  }
  if (!has_filter) spec.partial_filter = bson::Document();
  spec.document = shown(spec, given, has_filter);
  return spec;
}

}  // namespace storage
