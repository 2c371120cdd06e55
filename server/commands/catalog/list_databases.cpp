// listDatabases returns the databases, and their sizes on disk.
#include <set>

#include "server/commands/shared/storage_sizes.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/services.h"
#include "server/query/matcher.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server {
namespace {

class ListDatabases : public Command {
 public:
  std::string_view name() const override { return "listDatabases"; }
  std::string_view help() const override {
    return "{ listDatabases:1, [filter: <filterObject>] [, nameOnly: true ] [, branches: true ] }\nlist databases on this server";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"filter", "nameOnly", "authorizedDatabases", "branches"};
    return names;
  }
  bool admin_only() const override { return true; }
  bool stable_api() const override { return true; }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool name_only = arguments.loose_boolean("nameOnly").value_or(false);
    const bool branches = arguments.loose_boolean("branches").value_or(false);
    const auto only = arguments.loose_boolean("authorizedDatabases");
    const Shown shown_to(op, only.value_or(!may_on_cluster(op, access::Action::listDatabases)));
    const auto filter = arguments.object("filter").value_or(bson::DocumentView());
    const auto matcher = query::Matcher::parse(filter, query::parse_context(op));
    storage::Store& store = write::store_of(op);
    int64_t total = 0;
    {
      auto list = reply.array("databases");
      for (const auto& db : databases(store.catalog())) {
        op.check_interrupt();
        if (!shown_to(db)) continue;
        const bson::Document shown = describe(store, db, name_only);
        if (!matcher->matches(shown)) continue;
        total += shown.find("sizeOnDisk").to_int64();
        list.append(shown);
      }
      // By default branches aren't listed: tools that visit all databases would visit their common documents again.
      if (branches) append_branches(op, *matcher, shown_to, name_only, list);
    }
    if (!name_only) reply.append("totalSize", total).append("totalSizeMb", total / (1024 * 1024));
  }

 private:
  // Says which databases a client sees: all, or those that its user may use.
  class Shown {
   public:
    Shown(const OperationContext& op, bool only_usable)
        : limited_(only_usable && op.services().options.authorization), authority_(op.client().authority()) {}
    bool operator()(std::string_view db) const { return !limited_ || (authority_ && authority_->privileges.touch(db)); }

   private:
    const bool limited_;
    const access::AuthorityPtr authority_;
  };

  // The server's own databases are always listed: `admin` takes commands, whether it has collections or not.
  static std::set<std::string> databases(const storage::Catalog& catalog) {
    std::set<std::string> all{"admin", "config", "local"};
    for (std::string& db : catalog.databases()) all.insert(std::move(db));
    return all;
  }

  static void append_branches(OperationContext& op, const query::Matcher& matcher, const Shown& shown_to, bool name_only,
                              bson::ArrayBuilder& list) {
    storage::Store& store = write::store_of(op);
    storage::Transaction transaction(store, storage::Transaction::Mode::read);
    for (const auto& db : store.catalog().databases()) {
      const auto database = op.services().databases->find(db);
      if (!database) continue;
      for (const versions::Branch& branch : database->branches().graph().branches(transaction)) {
        op.check_interrupt();
        if (branch.name == versions::BranchedDatabase::main) continue;
        bson::Builder out;
        const std::string name = db + "@" + versions::escaped(branch.name);
        if (!shown_to(name)) continue;
        out.append("name", name);
        if (!name_only)
          out.append("sizeOnDisk", int64_t{0})
              .append("empty", store.catalog().found(name).empty());  // its files are the database's
        const bson::Document shown = out.done();
        if (matcher.matches(shown)) list.append(shown);
      }
    }
  }

  static bson::Document describe(storage::Store& store, const std::string& db, bool name_only) {
    bson::Builder out;
    out.append("name", db);
    if (!name_only) {
      StorageSizes sizes;
      bool empty = true;
      for (const auto& collection : store.catalog().collections(db)) {
        sizes += sizes_of(store, *collection);
        empty = false;
      }
      out.append("sizeOnDisk", sizes.total()).append("empty", empty);
    }
    return out.done();
  }
};

}  // namespace

std::unique_ptr<Command> make_list_databases_command() {
  return std::make_unique<ListDatabases>();
}

}  // namespace server
