#include "server/write/storable.h"

#include "base/error.h"
#include "bson/builder.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using bson::Type;

namespace {

bool nests_deeper(const bson::ValueView& value, int levels) {
  if (!value.is_object() && !value.is_array()) return false;
  if (levels <= 0) return true;
  for (const auto& element : value.as_document()) {
    if (nests_deeper(element, levels - 1)) return true;
  }
  return false;
}

bool is_unset_timestamp(const bson::Element& field) {
  return field.type() == Type::timestamp && field.as_int64() == 0 && field.name != "_id";
}

// Returns how many of the first fields are a DBRef's: {$ref: "c", $id: 1, $db: "d"}.
size_t reference_parts(bson::DocumentView document) {
  size_t parts = 0;
  for (const auto& field : document) {
    const bool fits = parts == 0   ? field.name == "$ref" && field.is_string()
                      : parts == 1 ? field.name == "$id"
                                   : parts == 2 && field.name == "$db" && field.is_string();
    if (!fits) break;
    ++parts;
  }
  return parts < 2 ? 0 : parts;
}

void check_size(bson::DocumentView document) {
  if (document.size() <= bson::document_bytes_max) return;
  throw OperationError(ErrorCode::bad_value, "object to insert too large. size in bytes: " + std::to_string(document.size()) +
                                                 ", max size: " + std::to_string(bson::document_bytes_max));
}

}  // namespace

std::optional<bson::Document> make_storable(bson::DocumentView document, std::optional<bson::Timestamp> now) {
  check_size(document);
  if (nests_deeper(bson::ValueView(Type::object, document.bytes()), bson::nesting_max)) {
    throw OperationError(ErrorCode::overflow,
                         "cannot insert document because it exceeds " + std::to_string(bson::nesting_max) + " levels of nesting");
  }
  bool rebuild = false;
  int ids = 0;
  int position = 0;
  for (const auto& field : document) {
    if (field.name == "_id") {
      if (++ids > 1) throw OperationError(ErrorCode::bad_value, "can't have multiple _id fields in one document");
      check_id(field);
      rebuild = rebuild || position > 0;
    }
    rebuild = rebuild || (now && is_unset_timestamp(field));
    ++position;
  }
  if (!rebuild && ids == 1) return std::nullopt;

  bson::Builder out;
  const auto id = document.find("_id");
  if (id.exists())
    out.append_element(id);
  else
    out.append("_id", bson::ObjectId::generate());
  for (const auto& field : document) {
    if (field.name == "_id") continue;
    if (now && is_unset_timestamp(field))
      out.append(field.name, *now);
    else
      out.append_element(field);
  }
  return out.done();
}

std::optional<bson::Document> with_id_first(bson::DocumentView document) {
  if (document.first().name == "_id") return std::nullopt;
  bson::Builder out;
  out.append_element(document.find("_id"));
  for (const auto& field : document) {
    if (field.name != "_id") out.append_element(field);
  }
  return out.done();
}

std::optional<bson::Document> with_timestamps(bson::DocumentView document, bson::Timestamp now) {
  bool any = false;
  for (const auto& field : document) any = any || is_unset_timestamp(field);
  if (!any) return std::nullopt;
  bson::Builder out;
  for (const auto& field : document) {
    if (is_unset_timestamp(field))
      out.append(field.name, now);
    else
      out.append_element(field);
  }
  return out.done();
}

void check_id(const bson::ValueView& id) {
  if (id.type() == Type::regex || id.type() == Type::array || id.type() == Type::undefined) {
    throw OperationError(ErrorCode::invalid_id_field,
                         "The '_id' value cannot be of type " + std::string(bson::type_name(id.type())));
  }
  if (!id.is_object()) return;
  size_t position = 0;
  const size_t parts = reference_parts(id.as_document());
  for (const auto& field : id.as_document()) {
    if (position++ < parts || !field.name.starts_with("$")) continue;
    throw OperationError(ErrorCode::dollar_prefixed_field_name, "_id fields may not contain '$'-prefixed fields: " +
                                                                    std::string(field.name) + " is not valid for storage.");
  }
}

void check_top_level_field(bson::DocumentView document, std::string_view name) {
  if (!name.starts_with("$")) return;
  bson::Element before, field, after;
  for (const auto& element : document) {
    if (field.exists()) {
      after = element;
      break;
    }
    if (element.name == name)
      field = element;
    else
      before = element;
  }
  const auto must_be_text = [&] {
    if (field.is_string()) return;
    throw OperationError(ErrorCode::invalid_dbref, "The DBRef " + std::string(name) + " field must be a String, not a " +
                                                       std::string(bson::type_name(field.type())));
  };
  const auto must_follow = [&](std::string_view other) {
    if (before.name == other) return;
    throw OperationError(ErrorCode::invalid_dbref, "Found " + std::string(name) + " field without a " + std::string(other) +
                                                       " before it, which is invalid.");
  };
  if (name == "$db") {
    must_be_text();
    return must_follow("$id");
  }
  if (name == "$id") return must_follow("$ref");
  if (name == "$ref") {
    must_be_text();
    if (after.name == "$id") return;
    throw OperationError(ErrorCode::invalid_dbref, "The DBRef $ref field must be followed by a $id field");
  }
  throw OperationError(ErrorCode::dollar_prefixed_field_name,
                       "The dollar ($) prefixed field '" + std::string(name) + "' in '" + std::string(name) +
                           "' is not allowed in the context of an update's replacement document. Consider using an "
                           "aggregation pipeline with $replaceWith.");
}

void check_depth(const bson::ValueView& value, int level) {
  if (level <= bson::nesting_max && !nests_deeper(value, bson::nesting_max - level)) return;
  throw OperationError(ErrorCode::overflow, "Document exceeds maximum nesting depth of " + std::to_string(bson::nesting_max));
}

}  // namespace server::write
