// A rule decides whether a connection may run a command's request.
#pragma once

#include <span>
#include <string_view>

#include "server/dispatch/rules/asker.h"

namespace server::rules {

using Rule = bool (*)(const Asker& asker);

struct NamedRule {
  std::string_view command;
  Rule rule;
};

// Returns nullptr for a command that has no rule.
Rule rule_of(std::string_view command);
// Returns whether each command of the registry has its rule; `missing` is one that has none.
bool complete(std::span<const Command* const> commands, std::string_view& missing);

// The lists, one a family of commands.
std::span<const NamedRule> crud_rules();
std::span<const NamedRule> catalog_rules();
std::span<const NamedRule> diagnostics_rules();
std::span<const NamedRule> remotes_rules();
std::span<const NamedRule> replication_rules();
std::span<const NamedRule> sessions_rules();
std::span<const NamedRule> users_rules();
std::span<const NamedRule> versions_rules();

// Rules that several families use.
inline bool anybody(const Asker&) {
  return true;
}
// Another member of the set, or who may do everything.
inline bool members_only(const Asker& asker) {
  return asker.authority().internal || asker.everything();
}

// Returns whether the pipeline's stages may read and write what they name. `on`: the collection that it begins with; empty: none.
bool may_run_pipeline(const Asker& asker, std::string_view db, std::string_view on, bson::DocumentView stages);

}  // namespace server::rules
