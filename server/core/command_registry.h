// All commands by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/command.h"

namespace server {

// Filled before the first connection, read-only (and so thread-safe) after.
class CommandRegistry {
 public:
  void add(std::unique_ptr<Command> command);

  // By name or alias, exact case; nullptr when there is none.
  Command* find(std::string_view name) const;

  // In the order of their names, aliases not repeated.
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
