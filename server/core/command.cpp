#include "server/core/command.h"

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/names.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

const DocumentSequence* Request::sequence(std::string_view name) const {
  for (const auto& sequence : sequences) {
    if (sequence.name == name) return &sequence;
  }
  return nullptr;
}

std::vector<bson::DocumentView> Request::documents(std::string_view name) const {
  if (const auto* beside = sequence(name)) return beside->documents;
  const Arguments arguments(*this);
  std::vector<bson::DocumentView> found;
  const auto array = arguments.array(name);
  if (!array) return found;
  for (const auto& element : *array) {
    if (!element.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted(name) + "." + std::string(element.name) +
                                                         "' is the wrong type '" + std::string(bson::type_name(element.type())) +
                                                         "', expected type 'object'");
    }
    found.push_back(element.as_document());
  }
  return found;
}

std::string Request::collection() const {
  const bson::Element first = body.first();
  if (first.type() == bson::Type::binary && first.as_binary().subtype == 4) {
    throw OperationError(ErrorCode::invalid_namespace, "Collection name must be provided. UUID is not valid in this context");
  }
  if (first.type() != bson::Type::string && first.type() != bson::Type::symbol) {
    throw OperationError(ErrorCode::invalid_namespace,
                         "collection name has invalid type " + std::string(bson::type_name(first.type())));
  }
  const std::string_view name = first.as_string();
  if (!valid_collection_name(name)) {
    throw OperationError(ErrorCode::invalid_namespace, "Invalid namespace specified '" + db + "." + std::string(name) + "'");
  }
  return std::string(name);
}

std::string_view kind_name(const Command* command) {
  switch (command ? command->kind() : OpKind::command) {
    case OpKind::insert: return "insert";
    case OpKind::update: return "update";
    case OpKind::remove: return "remove";
    case OpKind::query: return "query";
    case OpKind::get_more: return "getmore";
    case OpKind::bulk_write: return "bulkWrite";
    case OpKind::command: break;
  }
  return "command";
}

std::string shown_namespace(const Request& request, const Command* command) {
  // A getMore names the collection that it reads from in a field of its own.
  if (command && command->kind() == OpKind::get_more) {
    if (const auto collection = request.body.find("collection"); collection.is_string())
      return request.db + "." + std::string(collection.as_string());
  }
  const auto first = request.body.first();
  const bool named = command && command->may_take_collection() && first.is_string();
  return request.db + "." + (named ? std::string(first.as_string()) : "$cmd");
}

}  // namespace server
