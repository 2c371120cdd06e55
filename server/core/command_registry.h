// The registry knows all commands by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/command.h"

namespace server {

// The registry is filled before the first connection; after that it is read-only, and so thread-safe.
class CommandRegistry {
 public:
  void add(std::unique_ptr<Command> command);

  // Finds a command by its name or an alias, in exact case; returns nullptr if there is none.
  Command* find(std::string_view name) const;

  // Returns all commands in the order of their names, without aliases.
  std::vector<const Command*> all() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::map<std::string, std::unique_ptr<Command>, std::less<>> owned_;
  std::unordered_map<std::string, Command*, Hash, std::equal_to<>> by_name_;
};

}  // namespace server
