// createSearchIndexes is refused, because there is no search engine beside this server (search_index.h).
#include "server/commands/catalog/search_index.h"

namespace server {
namespace {

// Checks {name, type, definition}. Throws TypeMismatch, 40414, 40415.
void check_index(const Arguments& index) {
  index.only({"name", "type", "definition"});
  index.string("name");
  index.string("type");
  index.required_object("definition");
}

class CreateSearchIndexes : public Command {
 public:
  std::string_view name() const override { return "createSearchIndexes"; }
  std::string_view help() const override { return "creates search indexes; only with Atlas"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"indexes"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext&, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    arguments.required_array("indexes");
    for (const bson::DocumentView index : request.documents("indexes")) check_index({arguments.dotted("indexes"), index});
    refuse_search_index();
  }
};

}  // namespace

std::unique_ptr<Command> make_create_search_indexes_command() {
  return std::make_unique<CreateSearchIndexes>();
}

}  // namespace server
