// dropSearchIndex is refused, because there is no search engine beside this server (search_index.h).
#include "server/commands/catalog/search_index.h"

namespace server {

std::unique_ptr<Command> make_drop_search_index_command() {
  return std::make_unique<NamedSearchIndex>("dropSearchIndex", "removes a search index; only with Atlas");
}

}  // namespace server
