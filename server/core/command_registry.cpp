#include "server/core/command_registry.h"

#include "base/error.h"
#include "server/commands/all.h"

namespace server {

#define PALIMPSEST_DECLARE(name) std::unique_ptr<Command> make_##name##_command();
PALIMPSEST_COMMANDS(PALIMPSEST_DECLARE)
#undef PALIMPSEST_DECLARE

void CommandRegistry::add(std::unique_ptr<Command> command) {
  Command* const added = command.get();
  base::check(owned_.emplace(std::string(added->name()), std::move(command)).second, "two commands of one name");
  by_name_.emplace(std::string(added->name()), added);
  for (std::string_view alias : added->aliases()) by_name_.emplace(std::string(alias), added);
}

Command* CommandRegistry::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<const Command*> CommandRegistry::all() const {
  std::vector<const Command*> commands;
  for (const auto& [name, command] : owned_) commands.push_back(command.get());
  return commands;
}

void add_all_commands(CommandRegistry& registry) {
#define PALIMPSEST_ADD(name) registry.add(make_##name##_command());
  PALIMPSEST_COMMANDS(PALIMPSEST_ADD)
#undef PALIMPSEST_ADD
}

}  // namespace server
