#include "server/commands/search_index.h"

#include "base/error.h"

namespace server {

void refuse_search_index() {
  throw base::OperationError(base::ErrorCode::command_not_supported, "Search index commands are only supported with Atlas.");
}

void check_search_index(const Arguments& index) {
  index.only({"name", "type", "definition"});
  index.string("name");
  index.string("type");
  index.required_object("definition");
}

void check_search_index_name(const Arguments& arguments) {
  arguments.string("id");
  arguments.string("name");
}

}  // namespace server
