// packCommits returns commits of a database in the form in which another server replays them.
#include <algorithm>

#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/remotes.h"
#include "server/core/allowance.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"
#include "server/query/validator.h"
#include "server/write/replacement.h"
#include "versions/database/commit_packer.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
namespace pack = versions::pack;

// Chance is no filter.
void refuse_chance(bson::DocumentView query) {
  for (const bson::Element& one : query) {
    if (one.name == "$sampleRate")
      throw OperationError(ErrorCode::bad_value,
                           "$sampleRate is not allowed in a filter of commits, which always shows the same");
    if (one.is_object() || one.is_array()) refuse_chance(one.as_document());
  }
}

// The documents that a filter matches are part of commits' ids. So a filter may depend on the document and on the collection's
// collation alone: expressions, functions, and operators that need an index are refused.
versions::Matches compile_filter(bson::DocumentView filter, const bson::CollatorPtr& collator, Allowance& allowance) {
  query::ParseContext context;
  context.collator = collator;
  context.allowance = &allowance;
  refuse_chance(filter);
  query::check_validator(filter, context);
  const std::shared_ptr<const query::Matcher> matcher = query::Matcher::parse(filter, context);
  return [matcher, &allowance](bson::DocumentView document) {
    // Whoever asks has read and hashed the document, which may take longer than the filter does.
    allowance.work_on(document.size());
    return matcher->matches(document);
  };
}

// The first document says what the pack has and what the database knows; the others are the pack's bytes.
class PackSource : public query::CursorSource {
 public:
  PackSource(OperationContext& op, query::States states, bson::Builder first, versions::CommitPacker::What what, bool packs)
      : op_(&op), allowance_(op_, &op.services().memory), states_(std::move(states)) {
    what.filtering.compile = [this](bson::DocumentView filter, const bson::CollatorPtr& collator) {
      return compile_filter(filter, collator, allowance_);
    };
    if (packs) packer_.emplace(states_.database(), states_.transaction(), std::move(what));
    append_count(first, "commits", packer_ ? static_cast<int64_t>(packer_->commits()) : 0);
    document_ = first.done();
  }

  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    if (!std::exchange(begun_, true)) return true;
    if (!packer_) return false;
    auto piece = packer_->next(op_->interrupted());
    if (!piece) {
      packer_.reset();
      return false;
    }
    bson::Builder out;
    out.append("pack", bson::Binary{0, piece->bytes});
    document_ = out.done();
    if (piece->ends_pack) packer_.reset();
    return true;
  }
  bson::DocumentView document() override { return document_; }
  bool exhausted() const override { return begun_ && !packer_; }

 private:
  OperationContext* op_;  // nullptr between batches
  Allowance allowance_;   // of the filters, which serve all batches
  query::States states_;
  std::optional<versions::CommitPacker> packer_;
  bson::Document document_;
  bool begun_ = false;
};

class PackCommits : public Command {
 public:
  std::string_view name() const override { return "packCommits"; }
  std::string_view help() const override {
    return "commits of the database in a form that receivePack takes, as a cursor: {refs, known}, then {pack: <bytes>} …\n"
           "{ packCommits: 1, refs: [ <branch or tag>, … ], have: [ <commit's id>, … ], shallow: [ <commit's id>, … ], depth: "
           "<long>, has: [ <commit's id>, … ], collections: [ <name>, … ], filter: { <collection>: <query>, … }, deltas: <bool>, "
           "cursor: { batchSize: <int> } }\n"
           "It leaves out what the commits in `have` come from, but for what lies behind those in `shallow`. Without refs it "
           "packs "
           "all; with none of them, nothing. With depth it packs so many of the newest commits of each ref. It answers which of "
           "the commits in `has` are here. With collections or a filter the commits are others, with these collections and "
           "documents alone.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"refs",        "have",   "shallow", "depth", "has",
                                                 "collections", "filter", "deltas",  "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    versions::CommitPacker::What what{.deltas = arguments.boolean("deltas").value_or(true), .interrupted = op.interrupted()};
    if (const auto have = arguments.array("have")) what.known = ids_of(*have, "have");
    if (const auto shallow = arguments.array("shallow")) what.shallow = ids_of(*shallow, "shallow");
    std::vector<versions::Hash> asked;
    if (const auto has = arguments.array("has")) asked = ids_of(*has, "has");
    if (std::max({what.known.size(), what.shallow.size(), asked.size()}) > versions::KnownCommits::ids_max)
      throw OperationError(ErrorCode::bad_value, "'have', 'shallow' or 'has' names too many commits");
    if (arguments.any("depth").exists()) {
      what.depth = arguments.unsigned_integer("depth").value_or(0);
      if (*what.depth < 1) throw OperationError(ErrorCode::bad_value, "'depth' is at least 1");
      if (*what.depth == INT64_MAX) what.depth = UINT64_MAX;
    }
    what.selection = selection_of(arguments);
    what.filtering = {.known = &known_roots_, .interrupted = op.interrupted()};
    query::States states(op, branched(op, request));
    const auto& graph = states.branches().graph();
    std::vector<pack::Ref> all = versions::refs_of(states.transaction(), graph);
    const std::vector<Remote> remotes = remotes_of(op, states.database().name());
    std::erase_if(all, [&](const pack::Ref& ref) {
      return ref.name.starts_with(write::unfinished_prefix) || is_of_remote(remotes, ref.name);
    });
    const auto wanted = arguments.array("refs");
    what.refs = wanted ? chosen(*wanted, all, states.database().name()) : all;

    bson::Builder first;
    {
      auto refs = first.array("refs");
      for (const pack::Ref& ref : all) refs.append(document_of(ref));
    }
    append_ids(first, "known", versions::KnownCommits::of(states.transaction(), graph));
    append_ids(first, "shallow", boundaries(states));
    if (!asked.empty()) {
      std::erase_if(asked, [&](const versions::Hash& id) {
        const auto number = graph.find(states.transaction(), id);
        return !number || graph.dropped(states.transaction(), *number);
      });
      append_ids(first, "has", asked);
    }
    const bool packs = !wanted || !wanted->empty();
    auto source = std::make_unique<PackSource>(op, std::move(states), std::move(first), std::move(what), packs);
    reply_source(op, request, request.db + ".$cmd.packCommits", std::move(source), reply);
  }

 private:
  static void append_ids(bson::Builder& out, std::string_view name, const std::vector<versions::Hash>& ids) {
    auto list = out.array(name);
    for (const versions::Hash& id : ids) list.append(bson::Binary{0, versions::view(id)});
  }

  static std::vector<versions::Hash> boundaries(const query::States& states) {
    const auto& graph = states.branches().graph();
    std::vector<versions::Hash> ids;
    for (const versions::CommitNumber number : graph.boundaries(states.transaction()))
      ids.push_back(graph.commit(states.transaction(), number)->id);
    return ids;
  }

  static std::vector<pack::Ref> chosen(bson::DocumentView names, const std::vector<pack::Ref>& all, const std::string& db) {
    std::vector<pack::Ref> refs;
    for (const bson::Element& name : names) {
      if (!name.is_string()) throw OperationError(ErrorCode::type_mismatch, "'refs' must be an array of names");
      const auto found = std::find_if(all.begin(), all.end(), [&](const pack::Ref& ref) { return ref.name == name.as_string(); });
      if (found == all.end()) {
        throw OperationError(ErrorCode::namespace_not_found,
                             "database '" + db + "' has no branch or tag '" + std::string(name.as_string()) + "'");
      }
      refs.push_back(*found);
    }
    return refs;
  }

  versions::KnownRoots known_roots_;
};

}  // namespace

std::unique_ptr<Command> make_pack_commits_command() {
  return std::make_unique<PackCommits>();
}

}  // namespace server
