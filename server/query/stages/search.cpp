#include "server/query/stages/search.h"

#include "server/query/stages/support.h"

namespace server::query {

StageSpecPtr parse_search(const bson::Element& specification, PipelineContext&) {
  refuse(6047401, std::string(specification.name) + " stage is only allowed on MongoDB Atlas");
}

}  // namespace server::query
