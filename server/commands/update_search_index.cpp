// updateSearchIndex: there is no search engine beside this server, so it is refused (search_index.h).
#include "server/command.h"
#include "server/commands/search_index.h"

namespace server {
namespace {

class UpdateSearchIndex : public Command {
 public:
  std::string_view name() const override { return "updateSearchIndex"; }
  std::string_view help() const override { return "changes a search index; only with Atlas"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"id", "name", "definition"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext&, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    check_search_index_name(arguments);
    arguments.required_object("definition");
    refuse_search_index();
  }
};

}  // namespace

std::unique_ptr<Command> make_update_search_index_command() {
  return std::make_unique<UpdateSearchIndex>();
}

}  // namespace server
