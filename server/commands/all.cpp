#include "server/commands/all.h"

#include <memory>

#include "server/core/command_registry.h"

namespace server {

#define PALIMPSEST_DECLARE(name) std::unique_ptr<Command> make_##name##_command();
PALIMPSEST_COMMANDS(PALIMPSEST_DECLARE)
#undef PALIMPSEST_DECLARE

void add_all_commands(CommandRegistry& registry) {
#define PALIMPSEST_ADD(name) registry.add(make_##name##_command());
  PALIMPSEST_COMMANDS(PALIMPSEST_ADD)
#undef PALIMPSEST_ADD
}

}  // namespace server
