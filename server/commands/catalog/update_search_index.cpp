// updateSearchIndex is refused, because there is no search engine beside this server (search_index.h).
#include "server/commands/catalog/search_index.h"

namespace server {

std::unique_ptr<Command> make_update_search_index_command() {
  return std::make_unique<NamedSearchIndex>("updateSearchIndex", "changes a search index; only with Atlas",
                                            NamedSearchIndex::Definition::required);
}

}  // namespace server
