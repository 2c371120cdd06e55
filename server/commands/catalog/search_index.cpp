#include "server/commands/catalog/search_index.h"

#include "base/error.h"

namespace server {

void refuse_search_index() {
  throw base::OperationError(base::ErrorCode::command_not_supported, "Search index commands are only supported with Atlas.");
}

std::optional<Command::FieldNames> NamedSearchIndex::fields() const {
  static constexpr std::string_view names[] = {"id", "name", "definition"};
  return FieldNames(names).first(definition_ == Definition::required ? 3 : 2);
}

void NamedSearchIndex::run(OperationContext&, const Request& request, bson::Builder&) {
  const Arguments arguments(request);
  arguments.string("id");
  arguments.string("name");
  if (definition_ == Definition::required) arguments.required_object("definition");
  refuse_search_index();
}

}  // namespace server
