// fetch brings commits from a remote.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/fetched.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"

namespace server {
namespace {

class Fetch : public Command {
 public:
  std::string_view name() const override { return "fetch"; }
  std::string_view help() const override {
    return "bring the commits of a remote that aren't here; its branch dev is origin/dev here, and read-only\n"
           "{ fetch: <remote>, refs: [ <branch or tag>, … ], depth: <int>, unshallow: <bool>, collections: [ <name>, … ], "
           "filter: { <collection>: <query>, … } }\nWithout refs it brings all. With "
           "depth it brings so many of the newest commits of each, and history is shallow; unshallow brings all that is behind "
           "them. With collections or a filter the commits are made from the remote's, with these collections and documents "
           "alone.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"refs", "depth", "unshallow", "collections", "filter"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string db = database_of(request);
    Remote remote = remote_of(op, db, arguments.required_string("fetch"));
    select(op, db, remote, selection_of(arguments));
    FetchRequest what{.depth = depth_of(arguments)};
    auto& names = what.names;
    if (const auto given = arguments.array("refs")) {
      names.emplace();
      for (const bson::Element& one : *given) {
        if (!one.is_string()) throw base::OperationError(base::ErrorCode::type_mismatch, "'refs' must be an array of names");
        names->emplace_back(one.as_string());
      }
      if (names->empty()) throw base::OperationError(base::ErrorCode::bad_value, "'refs' must not be empty");
    }
    const Fetched fetched = fetch_from(op, request, db, remote, what);
    reply.append("remote", remote.name);
    append_count(reply, "made", static_cast<int64_t>(fetched.made));
    auto refs = reply.array("refs");
    for (const auto& ref : fetched.moved) {
      auto one = refs.object();
      one.append("name", ref.name).append("commit", hex(ref.commit));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_fetch_command() {
  return std::make_unique<Fetch>();
}

}  // namespace server
