#include "server/dispatch/rules/rules.h"

#include <map>

namespace server::rules {
namespace {

const std::map<std::string_view, Rule>& all() {
  static const std::map<std::string_view, Rule> rules = [] {
    std::map<std::string_view, Rule> made;
    for (const auto list : {crud_rules(), catalog_rules(), diagnostics_rules(), replication_rules(), sessions_rules(),
                            users_rules(), versions_rules(), remotes_rules()}) {
      for (const NamedRule& one : list) made.emplace(one.command, one.rule);
    }
    return made;
  }();
  return rules;
}

}  // namespace

Rule rule_of(std::string_view command) {
  const auto found = all().find(command);
  return found == all().end() ? nullptr : found->second;
}

bool complete(std::span<const Command* const> commands, std::string_view& missing) {
  for (const Command* command : commands) {
    if (rule_of(command->name())) continue;
    missing = command->name();
    return false;
  }
  return true;
}

}  // namespace server::rules
