#include "server/commands/versions/merge_request.h"

#include <algorithm>

#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_progress.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/query/field_path.h"
#include "server/query/views.h"
#include "server/write/detailed_error.h"
#include "server/write/namespaces.h"
#include "server/write/storable.h"
#include "server/write/update/pipeline_update.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;

namespace {

// A reply holds 16 MB. What it shows of a merge's conflicts leaves room for the ids of one, however long these are.
constexpr size_t conflicts_shown = 1000, conflicts_shown_bytes = 1 << 20, paths_shown_bytes = 1 << 20;
constexpr size_t keys_shown_bytes = 8 << 20;  // of a conflict of a unique index, with its ids
constexpr size_t element_bytes = 16;          // of an array, besides a text: its type, its name, and what ends and counts these
// A merge that stops keeps these arguments.
constexpr std::string_view kept_arguments[] = {"into", "branch", "mode", "resolve", "paths", "collections", "message", "author"};
constexpr std::pair<std::string_view, versions::Branches::MergeKind> kinds[] = {
    {"merge", versions::Branches::MergeKind::merge},
    {"cherryPick", versions::Branches::MergeKind::cherry_pick},
    {"revert", versions::Branches::MergeKind::revert},
    {"squash", versions::Branches::MergeKind::squash}};

template <class Value>
std::optional<Value> choice(const Arguments& arguments, std::string_view name,
                            std::initializer_list<std::pair<std::string_view, Value>> values) {
  const auto given = arguments.string(name);
  if (!given) return std::nullopt;
  std::string known;
  for (const auto& [word, value] : values) {
    if (*given == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  throw OperationError(ErrorCode::bad_value,
                       "'" + std::string(*given) + "' is no " + std::string(name) + " of a merge: " + known);
}

void check_path(std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view field = path.substr(begin, end - begin);
    if (field.empty()) throw OperationError(ErrorCode::bad_value, "the path '" + std::string(path) + "' has an empty field name");
    if (field.starts_with('$') && !query::is_dbref_field(field))
      throw OperationError(ErrorCode::bad_value, "the path '" + std::string(path) + "' has a field name that begins with a $");
    begin = end + 1;
  }
}

versions::PathRule path_rule(const bson::Element& given) {
  using Kind = versions::PathRule::Kind;
  check_path(given.name);
  if (given.is_object()) {
    const Arguments arguments("merge.paths." + std::string(given.name), given.as_document());
    arguments.only({"byKey"});
    return {Kind::by_key, std::string(arguments.required_string("byKey"))};
  }
  static constexpr std::pair<std::string_view, Kind> kinds[] = {
      {"sum", Kind::sum},       {"max", Kind::max},   {"min", Kind::min},      {"union", Kind::union_},
      {"append", Kind::append}, {"ours", Kind::ours}, {"theirs", Kind::theirs}};
  for (const auto& [word, kind] : kinds) {
    if (given.is_string() && given.as_string() == word) return {kind};
  }
  throw OperationError(ErrorCode::bad_value, "the rule of path '" + std::string(given.name) +
                                                 "' is none of sum, max, min, union, append, ours, theirs, {byKey: <field>}");
}

bson::Document variables_of(const versions::Sides& sides) {
  bson::Builder variables;
  const auto add = [&](std::string_view name, const std::optional<base::BytesView>& side) {
    if (side)
      variables.append(name, bson::DocumentView(*side));
    else
      variables.append_null(name);
  };
  add("base", sides.base), add("ours", sides.ours), add("theirs", sides.theirs);
  return variables.done();
}

// The pipeline runs on our document; if that doesn't exist, on one with nothing but its _id.
versions::Resolver by_pipeline(OperationContext& op, bson::Document stages) {
  {
    const bson::Document nobody = variables_of({});
    write::compile_pipeline_update(stages, {nobody.view()}, op,
                                   nullptr);  // an invalid pipeline is refused now, not at the first conflict
  }
  return [&op, stages = std::move(stages)](const versions::Sides& sides) -> versions::Resolution {
    const bson::Document variables = variables_of(sides);
    const bson::DocumentView any(sides.ours ? *sides.ours : sides.theirs ? *sides.theirs : *sides.base);
    bson::Builder id;
    id.append("_id", static_cast<bson::ValueView>(any.find("_id")));
    const bson::Document only_id = id.done();
    bson::Document after =
        write::compile_pipeline_update(stages, {variables.view()}, op, nullptr)->apply(sides.ours ? any : only_id.view());
    if (!after.view().find("_id").identical(any.find("_id"))) {
      throw OperationError(ErrorCode::immutable_field, "the pipeline that resolves conflicts changes the _id of a document");
    }
    if (auto storable = write::make_storable(after, std::nullopt)) after = std::move(*storable);
    return {versions::Resolution::Kind::written, std::move(after).bytes()};
  };
}

}  // namespace

void refuse_manual(const Arguments& arguments, std::string_view what) {
  const auto check = [&](const bson::Element& resolve) {
    if (resolve.is_string() && resolve.as_string() == "manual")
      throw OperationError(ErrorCode::bad_value, "conflicts of " + std::string(what) +
                                                     " can't wait for somebody to decide them; those of a commit can");
  };
  check(arguments.any("resolve"));
  if (const auto collections = arguments.object("collections")) {
    for (const bson::Element& one : *collections) {
      if (one.is_object()) check(one.as_document().find("resolve"));
    }
  }
}

std::string_view name_of(versions::Branches::MergeKind kind) {
  return std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& one) { return one.second == kind; })->first;
}

MergeRequest::Terms MergeRequest::terms(OperationContext& op, const Arguments& arguments, Terms terms) {
  using Mode = versions::MergeMode;
  using versions::Prefer;
  const auto mode = choice<Mode>(arguments, "mode",
                                 {{"fieldTouched", Mode::field_touched},
                                  {"fieldDivergent", Mode::field_divergent},
                                  {"documentTouched", Mode::document_touched},
                                  {"documentDivergent", Mode::document_divergent}});
  if (mode) terms.rules.mode = *mode;
  enum class Resolve { fail, ours, theirs, manual };
  if (arguments.any("resolve").is_array()) {
    if (arguments.array("resolve")->empty()) throw OperationError(ErrorCode::bad_value, "'resolve' must have at least one stage");
    terms.rules.prefer = Prefer::neither;
    terms.manual = false;
    terms.rules.decide = by_pipeline(op, bson::Document(*arguments.array("resolve")));
  } else if (const auto resolve = choice<Resolve>(
                 arguments, "resolve",
                 {{"fail", Resolve::fail}, {"ours", Resolve::ours}, {"theirs", Resolve::theirs}, {"manual", Resolve::manual}})) {
    terms.rules.prefer = *resolve == Resolve::ours     ? Prefer::ours
                         : *resolve == Resolve::theirs ? Prefer::theirs
                                                       : Prefer::neither;
    terms.manual = *resolve == Resolve::manual;
    terms.rules.decide = {};
  }
  if (const auto paths = arguments.object("paths")) {
    terms.rules.paths.clear();
    for (const auto& rule : *paths) terms.rules.paths[std::string(rule.name)] = path_rule(rule);
  }
  if (!terms.rules.paths.empty() &&
      (terms.rules.mode == Mode::document_touched || terms.rules.mode == Mode::document_divergent)) {
    throw OperationError(ErrorCode::bad_value, "rules of paths are for the modes fieldTouched and fieldDivergent");
  }
  return terms;
}

MergeRequest::MergeRequest(OperationContext& op, MergeKind kind, std::string from, const Arguments& arguments)
    : from_(std::move(from)) {
  request_.kind = kind;
  request_.interrupted = op.interrupted();
  request_.hold = hold_in(op);
  const Terms all = terms(op, arguments, {});
  request_.resolve = versions::resolver(all.rules);
  manual_ = all.manual;
  // Stages could make a view of what their author may not read.
  if (all.rules.decide) {
    Terms of_views = all;
    of_views.rules.decide = {};
    request_.of_present.emplace(query::views_collection, versions::resolver(of_views.rules));
  }
  if (const auto collections = arguments.object("collections")) {
    for (const auto& one : *collections) {
      const std::string name(one.name);
      if (!one.is_object())
        throw OperationError(ErrorCode::type_mismatch, "how collection '" + name + "' is merged must be an object");
      const Arguments own(std::string(name_of(kind)) + ".collections." + name, one.as_document());
      own.only({"mode", "resolve", "paths"});
      const Terms of = terms(op, own, all);
      if (name == query::views_collection && of.rules.decide)
        throw OperationError(ErrorCode::bad_value, "stages don't resolve conflicts of views");
      request_.of_collection[name] = versions::resolver(of.rules);
      manual_of_[name] = of.manual;
    }
  }
  enum class Into { head, both, new_branch };
  const Into into = choice<Into>(arguments, "into", {{"head", Into::head}, {"both", Into::both}, {"new", Into::new_branch}})
                        .value_or(Into::head);
  const auto branch = arguments.string("branch");
  if (branch.has_value() != (into == Into::new_branch))
    throw OperationError(ErrorCode::bad_value, "'branch' names the new branch of into: \"new\", and goes with that");
  if (branch) {
    versions::check_new_name(*branch);
    new_branch_ = *branch;
  }
  write::check_branch_creatable(new_branch_);
  both_ = into == Into::both;
  if (both_ && kind == MergeKind::squash)
    throw OperationError(ErrorCode::bad_value, "a squashed merge is on one branch alone: it doesn't go with into: \"both\"");
  bson::Builder kept;
  for (const std::string_view name : kept_arguments) {
    if (const auto given = arguments.any(name); given.exists()) kept.append_element(given);
  }
  arguments_ = kept.done();
}

bson::Document MergeRequest::write() const {
  bson::Builder out;
  out.append("kind", name_of(kind())).append("from", from_).append_all(arguments_);
  if (rebase_) {
    out.object("rebase").append("branch", rebase_->branch).append("head", rebase_->head).append("onto", rebase_->onto);
  }
  return out.done();
}

MergeRequest MergeRequest::read(OperationContext& op, bson::DocumentView kept) {
  const Arguments arguments("merge", kept);
  const std::string_view name = arguments.required_string("kind");
  const auto kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& one) { return one.first == name; });
  if (kind == std::end(kinds))
    throw OperationError(ErrorCode::data_corruption_detected, "a merge that waits is of no known kind");
  MergeRequest how(op, kind->second, std::string(arguments.required_string("from")), arguments);
  if (const auto kept_rebase = arguments.object("rebase")) {
    const Arguments of("rebase", *kept_rebase);
    how.rebase_ = Rebase{std::string(of.required_string("branch")), std::string(of.required_string("head")),
                         std::string(of.required_string("onto"))};
  }
  return how;
}

std::string MergeRequest::description() const {
  return std::string(kind() == MergeKind::cherry_pick ? "cherry-pick" : name_of(kind())) + " of " + from_;
}

versions::CommitInfo MergeRequest::info(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                                        const Arguments& now) const {
  const Arguments kept("merge", arguments_);
  const auto commit = database.branches().graph().commit(transaction, request_.from);
  const Arguments of_commit("commit", bson::DocumentView(commit->metadata));
  std::optional<std::string> message, author;
  if (kind() == MergeKind::merge || kind() == MergeKind::squash)
    message = description();
  else
    message = (kind() == MergeKind::revert ? "revert of " : "") + std::string(of_commit.string("message").value_or(""));
  if (kind() == MergeKind::cherry_pick) author = of_commit.string("author");
  for (const Arguments& arguments : {kept, now}) {
    if (const auto given = arguments.string("message")) message = *given;
    if (const auto given = arguments.string("author")) author = *given;
  }
  bson::Builder out;
  out.append("message", *message);
  if (author) out.append("author", *author);
  const bson::Document all = out.done();
  return commit_info(op, Arguments("commit", all), "");
}

void MergeRequest::find(storage::Transaction& transaction, const BranchedDatabase& database) {
  const versions::Place place = database.place(transaction, ref_of(from_));
  request_.from = place.commit;
  if (both_ && !place.branch)
    throw OperationError(ErrorCode::bad_value, "'" + from_ + "' is no branch, which into: \"both\" is about");
  if (both_) request_.with = place.branch->name;
}

void MergeRequest::show_progress(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                                 versions::CommitNumber into) {
  if (kind() != MergeKind::merge && kind() != MergeKind::squash) return;  // others take the changes of one commit
  const versions::CommitNumber base = database.branches().graph().common_ancestor(transaction, into, request_.from);
  request_.interrupted = merge_steps(op, transaction, database, base, into, request_.from);
}

void MergeRequest::go_on(versions::CommitNumber from) {
  request_.from = from;
  request_.goes_on = true;
  if (both_) request_.with = ref_of(from_).name;
}

versions::Branch MergeRequest::into(storage::Transaction& transaction, BranchedDatabase& database,
                                    const versions::Ref& ref) const {
  return new_branch_.empty() ? database.branch(transaction, ref) : database.create(transaction, new_branch_, ref);
}

void MergeRequest::pick_for(Rebase rebase, versions::CommitNumber commit, std::string name) {
  rebase_ = std::move(rebase);
  request_.from = commit;
  from_ = std::move(name);
}

void MergeRequest::take_over_for(Rebase rebase, versions::CommitNumber last, std::string name) {
  pick_for(std::move(rebase), last, std::move(name));
  request_.kind = MergeKind::merge;
}

bool MergeRequest::all_manual(const std::vector<BranchedDatabase::Conflict>& conflicts) const {
  return std::all_of(conflicts.begin(), conflicts.end(), [&](const auto& one) { return manual(one.collection); });
}

bool MergeRequest::manual(const std::string& collection) const {
  const auto own = manual_of_.find(collection);
  return own == manual_of_.end() ? manual_ : own->second;
}

versions::Hold hold_in(OperationContext& op) {
  return [&memory = op.allowance().memory()](std::ptrdiff_t bytes) {
    if (bytes > 0)
      memory.hold(static_cast<size_t>(bytes));
    else
      memory.release(static_cast<size_t>(-bytes));
  };
}

void append_conflict(const BranchedDatabase::Conflict& one, bson::Builder& out) {
  out.append("collection", one.collection).append_all(one.id);
  if (!one.index.empty()) {
    out.append("index", one.index);
    if (one.id.size() + one.key.size() + one.other.size() <= keys_shown_bytes)
      out.append("key", one.key).append("other", one.other);
  }
  if (one.paths.empty()) return;
  size_t bytes = 0, shown = 0;
  {
    auto paths = out.array("paths");
    for (; shown < one.paths.size(); ++shown) {
      bytes += one.paths[shown].size() + element_bytes;
      if (bytes > paths_shown_bytes) break;
      paths.append(one.paths[shown]);
    }
  }
  if (shown < one.paths.size()) out.append("morePaths", true);
}

void append_conflicts(const std::vector<BranchedDatabase::Conflict>& conflicts, bson::Builder& out) {
  append_count(out, "conflictCount", static_cast<int64_t>(conflicts.size()));
  auto list = out.array("conflicts");
  size_t bytes = 0;
  for (size_t i = 0; i < std::min(conflicts.size(), conflicts_shown); ++i) {
    bson::Builder made;
    append_conflict(conflicts[i], made);
    bytes += made.size();
    if (i > 0 && bytes > conflicts_shown_bytes) break;
    list.append(made.done().view());
  }
}

void fail_with_conflicts(const std::string& what, const std::vector<BranchedDatabase::Conflict>& conflicts) {
  bson::Builder details;
  append_conflicts(conflicts, details);
  throw write::DetailedError(ErrorCode::operation_failed,
                             what + " meets " + std::to_string(conflicts.size()) + " conflicts; nothing was merged",
                             details.done());
}

}  // namespace server
