#include "server/commands/sessions/sessions.h"

#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {

bson::DocumentView session_ids(const Request& request) {
  const std::string name(request.body.first().name);
  const bson::DocumentView ids = Arguments(request).required_array(name);
  for (const auto& element : ids) {
    const std::string path = request.command + "." + name + "." + std::string(element.name);
    if (!element.is_object()) {
      throw base::OperationError(base::ErrorCode::type_mismatch, "BSON field '" + path + "' is the wrong type '" +
                                                                     std::string(bson::type_name(element.type())) +
                                                                     "', expected type 'object'");
    }
    const auto id = element.as_document().find("id");
    if (!id.exists()) throw base::OperationError(40414, "BSON field '" + path + ".id' is missing but a required field");
    if (id.type() != bson::Type::binary || id.as_binary().subtype != 4 || id.as_binary().bytes.size() != 16) {
      throw base::OperationError(base::ErrorCode::invalid_uuid, "uuid must be a 16-byte binary field with UUID (4) subtype");
    }
  }
  return ids;
}

void kill_session(OperationContext& op, bson::DocumentView lsid) {
  op.services().operations.kill_session(lsid.find("id"), op.id());
  if (op.services().session_ended)
    op.services().session_ended(lsid.empty() ? bson::Document(lsid) : session_document(session_key(lsid, op.client())));
}

}  // namespace server
