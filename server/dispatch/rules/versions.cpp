// The rules of commands about branches, commits and snapshots, and of those that look into dedup.
#include "server/dispatch/rules/rules.h"

#include "versions/database/refs.h"

namespace server::rules {
namespace {

using enum Action;

// To change the branch or tag that the command names takes a right on the database itself, or on that state of it. A right on
// the state that the request is sent to is none on its neighbors.
template <Action action>
bool on_named(const Asker& asker) {
  return asker.base({action}) || (!asker.named().empty() && asker.at_ref(asker.named(), {}, {action}));
}

// The same, for a new name too.
bool renames(const Asker& asker) {
  if (asker.base({renameBranch})) return true;
  const std::string_view to = asker.text("to");
  return on_named<renameBranch>(asker) && !to.empty() && asker.at_ref(to, {}, {renameBranch});
}

// A user who makes a branch or a tag of a state must be able to read that state: else he would get at it by another name.
template <Action action>
bool begins_from(const Asker& asker) {
  if (!on_named<action>(asker)) return false;
  const std::string_view from = asker.text("from");
  return from.empty() ? asker.database({find}) : asker.at_ref(from, {}, {find});
}

bool resets(const Asker& asker) {
  return on_named<resetBranch>(asker) && asker.at_ref(asker.text("to"), {}, {find});
}

// It takes a right of its own to make commits that their validators don't check.
bool may_bypass(const Asker& asker) {
  return !asker.request().body.find("bypassDocumentValidation").truthy() || asker.database({bypassDocumentValidation});
}

template <Action action>
bool commits(const Asker& asker) {
  return asker.database({action}) && may_bypass(asker);
}

// `into: "both"` gives the other branch the commit too.
bool merges(const Asker& asker) {
  ActionSet of_other{find};
  if (asker.text("into") == "both") of_other.add(merge);
  if (asker.text("into") == "new" && !asker.base({createBranch}) && !asker.at_ref(asker.text("branch"), {}, {createBranch}))
    return false;
  return asker.database({merge, find}) && asker.at_ref(asker.named(), {}, of_other) && may_bypass(asker);
}

template <Action action>
bool takes_commit(const Asker& asker) {
  return asker.database({action, find}) && asker.at_ref(asker.named(), {}, {find}) && may_bypass(asker);
}

// The branch's commits are made anew, and the branch moves onto them.
bool rewrites(const Asker& asker) {
  return asker.database({resetBranch, merge, find}) && asker.at_ref(asker.named(), {}, {find}) && may_bypass(asker);
}

// The pipeline runs on states that lead from one of the two to the other.
bool bisects(const Asker& asker) {
  const auto pipeline = asker.request().body.find("pipeline");
  const bson::DocumentView stages = pipeline.is_array() ? pipeline.as_document() : bson::DocumentView();
  if (!asker.database({log}) || !may_run_pipeline(asker, asker.request().db, asker.named(), stages)) return false;
  for (const char* side : {"good", "bad"}) {
    const std::string_view ref = asker.text(side);
    if (!ref.empty() && !asker.at_ref(ref, asker.named(), {find})) return false;
  }
  return true;
}

// Each state that is named must be readable, and so must the one that isn't: the request's own.
bool compares(const Asker& asker) {
  if (!asker.database({diff})) return false;
  const std::string_view collection = asker.text("collection");
  for (const char* side : {"from", "to"}) {
    const std::string_view ref = asker.text(side);
    const bool reads =
        ref.empty() ? (collection.empty() ? asker.database({find}) : asker.collection(asker.request().db, collection, {find}))
                    : asker.at_ref(ref, collection, {find});
    if (!reads) return false;
  }
  return true;
}

// The changes may be lines of text, so it takes the rights on all collections.
bool patches(const Asker& asker) {
  ActionSet actions{find, insert, update, remove};
  if (asker.request().body.find("bypassDocumentValidation").truthy()) actions.add(bypassDocumentValidation);
  return asker.database(actions);
}

bool proves(const Asker& asker) {
  return asker.database({getProof}) && asker.collection(asker.request().db, asker.text("coll"), {find});
}

// A document's chain may hold what only other branches show.
bool sees_chain(const Asker& asker) {
  return asker.target({dedupChain, find}) && asker.all_states(asker.named(), {find});
}

bool logs(const Asker& asker) {
  const auto touching = asker.request().body.find("touching");
  if (!asker.database({log})) return false;
  if (!touching.is_object()) return true;
  const auto collection = touching.as_document().find("coll");
  return asker.collection(asker.request().db, collection.is_string() ? collection.as_string() : std::string_view(), {find});
}

template <Action action>
bool on_database(const Asker& asker) {
  return asker.database({action});
}

// The command is about one of several things in the database; it asks for the right on that one itself.
template <Action action>
bool on_base_or_here(const Asker& asker) {
  return asker.base({action}) || asker.database({action});
}

// It changes the states of the database without regard to which the request names.
template <Action action>
bool on_base(const Asker& asker) {
  return asker.base({action});
}

// It tells of all states: of the names of their collections, of how much there is.
template <Action action>
bool on_all_states(const Asker& asker) {
  return asker.all_states({}, {action});
}

// A snapshot is the whole server's, and so it takes what covers any database.
template <Action action>
bool on_any_database(const Asker& asker) {
  return asker.database("", {action});
}

constexpr NamedRule list[] = {
    {"abortMerge", on_database<merge>},
    {"applyPatch", patches},
    {"bisect", bisects},
    {"blame", [](const Asker& asker) { return asker.database({log}) && asker.target({find}); }},
    {"cherryPick", takes_commit<cherryPick>},
    {"commit", commits<commit>},
    {"commitValidator", on_base<collMod>},
    {"continueMerge", commits<merge>},
    {"createBranch", begins_from<createBranch>},
    {"createSnapshot", on_any_database<createSnapshot>},
    {"createTag", begins_from<createTag>},
    {"dedupAdvise",
     [](const Asker& asker) {
       return asker.target({dedupAdvise, find}) && asker.all_states(asker.named(), {find});
     }},
    {"dedupChain", sees_chain},
    {"diff", compares},
    {"dropBranch", on_named<dropBranch>},
    {"dropSnapshot", on_any_database<dropSnapshot>},
    {"dropStash", on_base_or_here<resetBranch>},
    {"dropTag", on_named<dropTag>},
    {"getProof", proves},
    {"listBranches", on_database<listBranches>},
    {"listConflicts",
     [](const Asker& asker) {
       return asker.database({merge, find});
     }},
    {"listSnapshots", on_database<listSnapshots>},
    {"listStashes", on_database<listBranches>},
    {"listTags", on_database<listTags>},
    {"log", logs},
    {"merge", merges},
    {"purge", on_base<purge>},
    {"rebase", rewrites},
    {"renameBranch", renames},
    {"resetBranch", resets},
    {"resolveConflict",
     [](const Asker& asker) {
       return asker.database({merge, find});
     }},
    {"retention", on_base<retention>},
    {"revert", takes_commit<revert>},
    {"squash", rewrites},
    {"stash",
     [](const Asker& asker) {
       return asker.database({commit, resetBranch});
     }},
    {"stashApply",
     [](const Asker& asker) {
       return asker.database({merge, find});
     }},
    {"stashPop",
     [](const Asker& asker) {
       return asker.database({merge, find});
     }},
    {"status", on_database<status>},
    {"sweep", on_base<sweep>},
    {"verify", on_all_states<verify>},
    {"versionStats", on_all_states<versionStats>},
};

}  // namespace

std::span<const NamedRule> versions_rules() {
  return list;
}

}  // namespace server::rules
