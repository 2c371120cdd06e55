// The rules of commands about branches, commits and snapshots, and of those that look into dedup.
#include "server/dispatch/rules/rules.h"

#include "versions/database/refs.h"

namespace server::rules {
namespace {

using enum Action;

// Who makes a branch or a tag of a state must be able to read that state: else he would get at it by another name.
template <Action action>
bool begins_from(const Asker& asker) {
  if (!asker.database({action})) return false;
  const std::string_view from = asker.text("from");
  return from.empty() ? asker.database({find}) : asker.at_ref(from, {}, {find});
}

bool resets(const Asker& asker) {
  return asker.database({resetBranch}) && asker.at_ref(asker.text("to"), {}, {find});
}

// `into: "both"` gives the other branch the commit too.
bool merges(const Asker& asker) {
  ActionSet of_other{find};
  if (asker.text("into") == "both") of_other.add(merge);
  return asker.database({merge, find}) && asker.at_ref(asker.named(), {}, of_other);
}

template <Action action>
bool takes_commit(const Asker& asker) {
  return asker.database({action, find}) && asker.at_ref(asker.named(), {}, {find});
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

// A snapshot is the whole server's, and so it takes what covers any database.
template <Action action>
bool on_any_database(const Asker& asker) {
  return asker.database("", {action});
}

constexpr NamedRule list[] = {
    {"abortMerge", on_database<merge>},
    {"cherryPick", takes_commit<cherryPick>},
    {"commit", on_database<commit>},
    {"continueMerge", on_database<merge>},
    {"createBranch", begins_from<createBranch>},
    {"createSnapshot", on_any_database<createSnapshot>},
    {"createTag", begins_from<createTag>},
    {"dedupAdvise",
     [](const Asker& asker) {
       return asker.target({dedupAdvise, find});
     }},
    {"dedupChain", sees_chain},
    {"diff", compares},
    {"dropBranch", on_database<dropBranch>},
    {"dropSnapshot", on_any_database<dropSnapshot>},
    {"dropTag", on_database<dropTag>},
    {"getProof", proves},
    {"listBranches", on_database<listBranches>},
    {"listConflicts",
     [](const Asker& asker) {
       return asker.database({merge, find});
     }},
    {"listSnapshots", on_database<listSnapshots>},
    {"listTags", on_database<listTags>},
    {"log", logs},
    {"merge", merges},
    {"purge", on_database<purge>},
    {"renameBranch", on_database<renameBranch>},
    {"resetBranch", resets},
    {"resolveConflict",
     [](const Asker& asker) {
       return asker.database({merge, find});
     }},
    {"retention", on_database<retention>},
    {"revert", takes_commit<revert>},
    {"status", on_database<status>},
    {"sweep", on_database<sweep>},
    {"verify", on_database<verify>},
    {"versionStats", on_database<versionStats>},
};

}  // namespace

std::span<const NamedRule> versions_rules() {
  return list;
}

}  // namespace server::rules
