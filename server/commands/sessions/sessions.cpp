#include "server/commands/sessions/sessions.h"

#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {

base::OperationError not_an_object(const std::string& path, const bson::ValueView& value) {
  return {base::ErrorCode::type_mismatch, "BSON field '" + path + "' is the wrong type '" +
                                              std::string(bson::type_name(value.type())) + "', expected type 'object'"};
}

void check_session_id(const std::string& path, const bson::ValueView& id) {
  if (!id.exists()) throw base::OperationError(40414, "BSON field '" + path + ".id' is missing but a required field");
  if (id.type() != bson::Type::binary || id.as_binary().subtype != 4 || id.as_binary().bytes.size() != 16) {
    throw base::OperationError(base::ErrorCode::invalid_uuid, "uuid must be a 16-byte binary field with UUID (4) subtype");
  }
}

bson::DocumentView session_ids(const Request& request) {
  const std::string name(request.body.first().name);
  const bson::DocumentView ids = Arguments(request).required_array(name);
  for (const auto& element : ids) {
    const std::string path = request.command + "." + name + "." + std::string(element.name);
    if (!element.is_object()) throw not_an_object(path, element);
    check_session_id(path, element.as_document().find("id"));
  }
  return ids;
}

void kill_sessions(OperationContext& op, bson::BytesView pattern) {
  op.services().operations.kill_sessions(pattern, op.id());
  if (op.services().sessions_ended) op.services().sessions_ended(pattern);
}

}  // namespace server
