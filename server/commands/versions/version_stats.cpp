// versionStats counts a database's branches, commits and versions, and shows their sizes.
#include <map>

#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server {
namespace {

class VersionStats : public Command {
 public:
  std::string_view name() const override { return "versionStats"; }
  std::string_view help() const override {
    return "what the database has in branches, commits and versions, and what these take\n{ versionStats: 1, perBranch: <bool; "
           "documents of each branch, too> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"perBranch"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const query::States states(op, database);
    (void)states.place(ref_of(request));
    const versions::VersionGraph& graph = database->branches().graph();
    const std::vector<versions::Branch> branches = graph.branches(states.transaction());
    const auto commits = graph.counts(states.transaction());
    const versions::Place main = states.place({.name = std::string(versions::BranchedDatabase::main)});
    std::vector<OnMain> collections;
    for (auto& one : op.services().store->catalog().collections(database->name())) {
      query::Versioned versioned(states, std::move(one));
      if (!versioned) continue;
      const versions::View view = states.view(*versioned.shared, main);
      const int64_t documents = versioned.shared->records(states.transaction(), view);
      collections.push_back({std::move(versioned), view, documents});
    }

    reply.append("db", database->name()).append("layout", "hybrid");
    append_count(reply, "branches", static_cast<int64_t>(branches.size()));
    const size_t stashes = states.database().stashes(states.transaction()).size();
    append_count(reply, "tags", static_cast<int64_t>(graph.tags(states.transaction()).size() - stashes));
    append_count(reply, "commits", static_cast<int64_t>(commits.commits));
    append_count(reply, "droppedCommits", static_cast<int64_t>(commits.dropped));
    // Commits whose parents aren't here.
    if (commits.absent > 0) append_count(reply, "shallow", static_cast<int64_t>(graph.boundaries(states.transaction()).size()));
    append_collections(collections, reply);
    append_tables(*op.services().store, *database, reply);
    if (Arguments(request).boolean("perBranch").value_or(false)) append_branches(op, states, branches, collections, reply);
  }

 private:
  struct OnMain : query::Versioned {
    versions::View view;
    int64_t documents;
  };

  static void append_collections(const std::vector<OnMain>& collections, bson::Builder& reply) {
    int64_t all = 0;
    {
      auto list = reply.array("collections");
      for (const OnMain& one : collections) {
        const int64_t versions = one.shared->base.stored_records();
        all += versions;
        bson::Builder out = list.object();
        out.append("name", storage::collection_of(one.collection->ns()));
        append_count(out, "versions", versions);
        append_count(out, "onMain", one.documents);
      }
    }
    append_count(reply, "versions", all);
  }

  // Groups tables by their purpose, which is the last word of their names.
  static void append_tables(storage::Store& store, const versions::BranchedDatabase& database, bson::Builder& reply) {
    std::map<std::string, int64_t> bytes;
    int64_t all = 0;
    for (const std::string& table : database.table_names()) {
      const int64_t one = store.engine().file_bytes(table);
      bytes[table.substr(table.rfind('-') + 1)] += one;
      all += one;
    }
    {
      auto out = reply.object("bytes");
      for (const auto& [kind, one] : bytes) append_count(out, kind, one);
    }
    append_count(reply, "totalBytes", all);
  }

  static void append_branches(OperationContext& op, const query::States& states, const std::vector<versions::Branch>& branches,
                              const std::vector<OnMain>& collections, bson::Builder& reply) {
    auto list = reply.array("perBranch");
    for (const versions::Branch& branch : branches) {
      op.check_interrupt();
      int64_t documents = 0, own = 0, uncommitted = 0;
      for (const OnMain& one : collections) {
        const versions::View view = one.shared->view_of(states.transaction(), branch);
        const int64_t here = one.shared->records(states.transaction(), view);
        documents += here;
        own += one.shared->records_beyond(states.transaction(), one.view, view);
        const auto pending = one.store().pending(states.transaction(), branch.id);
        uncommitted += static_cast<int64_t>(pending.added.count() + pending.removed.count());
      }
      bson::Builder out = list.object();
      out.append("name", branch.name);
      append_count(out, "documents", documents);
      append_count(out, "shared", documents - own);
      append_count(out, "own", own);
      append_count(out, "uncommitted", uncommitted);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_version_stats_command() {
  return std::make_unique<VersionStats>();
}

}  // namespace server
