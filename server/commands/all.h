// The list of commands: one line each, in the order of their names.
// X(ping) stands for `std::unique_ptr<Command> make_ping_command();`, defined in
// commands/ping.cpp.
#pragma once

#define PALIMPSEST_COMMANDS(X) \
  X(ping)

namespace server {
class Command;
}
