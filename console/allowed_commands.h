// The console passes on the commands that its pages need, with the arguments that they need, and no others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bson/document.h"

namespace console {

struct AllowedCommand {
  std::string_view name;
  bool primary;  // only a primary answers it
};

// Returns what the command is, or why it isn't passed on: CommandNotFound for a command that isn't in the list, Unauthorized for
// one that writes where `writes` is false, BadValue for an argument.
base::Result<AllowedCommand> check_command(std::string_view db, bson::DocumentView command, bool writes);

// The most documents of one batch: pages are fetched as somebody scrolls.
inline constexpr int64_t batch_documents_max = 1000;

}  // namespace console
