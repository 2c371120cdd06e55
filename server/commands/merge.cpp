// merge: what another line has changed comes to a branch, field by field.
#include "base/error.h"
#include "server/arguments.h"
#include "server/commands/branches.h"
#include "server/commands/scale.h"
#include "server/operation.h"
#include "server/write/batch.h"
#include "server/write/detailed_error.h"
#include "server/write/target.h"
#include "storage/engine.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;

constexpr size_t conflicts_shown = 1000;

template <class Value>
Value choice(const Arguments& arguments, std::string_view name, std::initializer_list<std::pair<std::string_view, Value>> values) {
  const auto given = arguments.string(name);
  std::string known;
  for (const auto& [word, value] : values) {
    if (given.value_or(values.begin()->first) == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw OperationError(ErrorCode::bad_value, "'" + std::string(*given) + "' is no " + std::string(name) + " of a merge: " + known);
}

versions::PathRule path_rule(const bson::Element& given) {
  using Kind = versions::PathRule::Kind;
  if (given.is_object()) {
    const Arguments arguments("merge.paths." + std::string(given.name), given.as_document());
    arguments.only({"byKey"});
    return {Kind::by_key, std::string(arguments.required_string("byKey"))};
  }
  static constexpr std::pair<std::string_view, Kind> kinds[] = {{"sum", Kind::sum},       {"max", Kind::max},   {"min", Kind::min},      {"union", Kind::union_},
                                                                {"append", Kind::append}, {"ours", Kind::ours}, {"theirs", Kind::theirs}};
  for (const auto& [word, kind] : kinds) {
    if (given.is_string() && given.as_string() == word) return {kind};
  }
  throw OperationError(ErrorCode::bad_value, "the rule of path '" + std::string(given.name) + "' is none of sum, max, min, union, append, ours, theirs, {byKey: <field>}");
}

versions::MergeRules rules_of(const Arguments& arguments) {
  using Mode = versions::MergeMode;
  using versions::Prefer;
  versions::MergeRules rules;
  rules.mode = choice<Mode>(arguments, "mode", {{"fieldTouched", Mode::field_touched}, {"fieldDivergent", Mode::field_divergent},
                                                {"documentTouched", Mode::document_touched}, {"documentDivergent", Mode::document_divergent}});
  rules.prefer = choice<Prefer>(arguments, "resolve", {{"fail", Prefer::neither}, {"ours", Prefer::ours}, {"theirs", Prefer::theirs}});
  if (const auto paths = arguments.object("paths")) {
    if (rules.mode == Mode::document_touched || rules.mode == Mode::document_divergent) {
      throw OperationError(ErrorCode::bad_value, "rules of paths are for the modes fieldTouched and fieldDivergent");
    }
    for (const auto& rule : *paths) rules.paths[std::string(rule.name)] = path_rule(rule);
  }
  return rules;
}

void append_conflicts(const std::vector<BranchedDatabase::Conflict>& conflicts, bson::Builder& out) {
  append_count(out, "conflictCount", static_cast<int64_t>(conflicts.size()));
  auto list = out.array("conflicts");
  for (size_t i = 0; i < std::min(conflicts.size(), conflicts_shown); ++i) {
    const BranchedDatabase::Conflict& one = conflicts[i];
    bson::Builder shown = list.object();
    shown.append("collection", one.collection).append_all(one.id);
    if (!one.index.empty()) shown.append("index", one.index).append("key", one.key).append("other", one.other);
    if (one.paths.empty()) continue;
    auto paths = shown.array("paths");
    for (const std::string& path : one.paths) paths.append(path);
  }
}

class MergeCommand : public Command {
 public:
  std::string_view name() const override { return "merge"; }
  std::string_view help() const override {
    return "bring what another line has changed to the branch that the database's name says\n"
           "{ merge: <branch, tag or commit>, mode: fieldTouched | fieldDivergent | documentTouched | documentDivergent, resolve: fail | ours | theirs,\n"
           "  paths: { <path>: sum | max | min | union | append | ours | theirs | {byKey: <field>} }, dryRun: <bool>, message: <string>, author: <string> }\n"
           "Where there are conflicts nothing is merged.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mode", "resolve", "paths", "dryRun", "message", "author"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string given(arguments.required_string("merge"));
    const versions::Ref from = ref_of(given), into = ref_of(request);
    const bool dry_run = arguments.loose_boolean("dryRun").value_or(false);
    const versions::Resolver resolve = versions::resolver(rules_of(arguments));
    const versions::CommitInfo info = commit_info(op, arguments, "merge of " + given);
    const auto database = branched(op, request);
    BranchedDatabase::Merge merge;
    std::string head;
    for (int tries = 0;; ++tries) {
      try {
        storage::Transaction transaction(write::engine_of(op), storage::Transaction::Mode::write);
        const versions::Branch branch = database->branch(transaction, into);
        merge = database->merge(transaction, branch.name, from, resolve, info);
        const bool kept = merge.commit && merge.conflicts.empty() && !dry_run;
        head = hex(kept ? merge.commit->id : database->branches().graph().commit(transaction, branch.head)->id);
        if (kept) transaction.commit();
        else transaction.rollback();
        break;
      } catch (const storage::WriteConflict&) {
        write::on_conflict(op)();
        storage::back_off(tries);
      }
    }
    if (!merge.conflicts.empty() && !dry_run) {
      bson::Builder details;
      append_conflicts(merge.conflicts, details);
      throw write::DetailedError(ErrorCode::operation_failed, "merging '" + given + "' meets " + std::to_string(merge.conflicts.size()) + " conflicts; nothing was merged",
                                 details.done());
    }
    reply.append("commit", head).append("changed", merge.commit != nullptr && merge.conflicts.empty());
    append_count(reply, "touchedByBoth", static_cast<int64_t>(merge.touched_by_both));
    if (dry_run) append_conflicts(merge.conflicts, reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_merge_command() { return std::make_unique<MergeCommand>(); }

}  // namespace server
