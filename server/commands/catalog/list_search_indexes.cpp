// listSearchIndexes is refused, because there is no search engine beside this server (search_index.h).
#include "server/commands/catalog/search_index.h"

namespace server {

std::unique_ptr<Command> make_list_search_indexes_command() {
  return std::make_unique<NamedSearchIndex>("listSearchIndexes", "lists search indexes; only with Atlas");
}

}  // namespace server
