#include "server/core/command_registry.h"

#include "base/error.h"

namespace server {

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

}  // namespace server
