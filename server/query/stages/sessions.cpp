// $listLocalSessions returns the sessions that this server has seen of late.
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {
namespace {

class ListLocalSessions final : public PlainSpec {
 public:
  explicit ListLocalSessions(const bson::Element& specification) : PlainSpec("$listLocalSessions", specification) {}
  bool is_source() const override { return true; }
  bool in_facet() const override { return false; }

  StagePtr start(StagePtr, PipelineContext& context) const override {
    std::vector<bson::Document> documents;
    for (const auto& session : context.op->services().sessions.active()) {
      bson::Builder out;
      out.append("_id", session_document(session.key)).append("lastUse", bson::Date{session.used_ms});
      documents.push_back(out.done());
    }
    return std::make_unique<ListStage>(std::move(documents));
  }
};

}  // namespace

StageSpecPtr parse_list_local_sessions(const bson::Element& specification, PipelineContext&) {
  if (!specification.is_object()) {
    refuse(base::ErrorCode::type_mismatch,
           "$listLocalSessions options must be specified in an object, but found: " + type_of(specification));
  }
  for (const bson::Element& field : specification.as_document()) {
    if (field.name == "users") {
      refuse(base::ErrorCode::unauthorized, "$listLocalSessions with users needs access control, which is not supported");
    }
    if (field.name != "allUsers")
      refuse(40415, "BSON field '$listLocalSessions." + std::string(field.name) + "' is an unknown field.");
  }
  return std::make_unique<ListLocalSessions>(specification);
}

}  // namespace server::query
