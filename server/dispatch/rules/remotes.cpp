// These are the rules of commands that exchange commits with other servers.
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using enum Action;

template <Action action>
bool on_base(const Asker& asker) {
  return asker.base({action});
}

bool at(const Asker& asker, std::string_view ref, const ActionSet& actions) {
  return ref == "main" ? asker.base(actions) : asker.at_ref(ref, {}, actions);
}

// A commit's history may go through any state.
bool packs(const Asker& asker) {
  return asker.all_states({}, {packCommits, find});
}

// The commits that come show nobody anything. A ref that moves to one is written to; by force it loses what it had.
bool receives(const Asker& asker) {
  if (!asker.base({receivePack})) return false;
  const auto refs = asker.request().body.find("refs");
  if (!refs.is_array()) return true;
  for (const auto& one : refs.as_document()) {
    if (!one.is_object()) return true;  // the command refuses it
    const bson::DocumentView ref = one.as_document();
    for (const char* kind : {"branch", "tag"}) {
      const auto name = ref.find(kind);
      if (!name.is_string()) continue;
      if (!at(asker, name.as_string(), {insert, update, remove})) return false;
      const auto force = ref.find("force");
      const bool forced = force.exists() && !(force.type() == bson::Type::boolean && !force.as_bool());
      if (forced && !asker.base({resetBranch}) && !at(asker, name.as_string(), {resetBranch})) return false;
    }
  }
  return true;
}

bool pushes(const Asker& asker) {
  return asker.base({push}) && asker.all_states({}, {find});
}

bool pulls(const Asker& asker) {
  return asker.base({pull}) && asker.database({merge, find});
}

constexpr NamedRule list[] = {
    {"addRemote", on_base<addRemote>},
    {"fetch", on_base<fetch>},
    {"listRemotes", on_base<listRemotes>},
    {"packCommits", packs},
    {"pull", pulls},
    {"push", pushes},
    {"receivePack", receives},
    {"removeRemote", on_base<removeRemote>},
};

}  // namespace

std::span<const NamedRule> remotes_rules() {
  return list;
}

}  // namespace server::rules
