// The list of commands: one line each, in the order of their names.
// X(ping) stands for `std::unique_ptr<Command> make_ping_command();`, defined in
// commands/ping.cpp.
#pragma once

#define PALIMPSEST_COMMANDS(X) \
  X(build_info)                \
  X(connection_status)         \
  X(end_sessions)              \
  X(features)                  \
  X(get_cmd_line_opts)         \
  X(get_log)                   \
  X(get_parameter)             \
  X(hello)                     \
  X(host_info)                 \
  X(is_master)                 \
  X(kill_all_sessions)         \
  X(kill_op)                   \
  X(kill_sessions)             \
  X(list_commands)             \
  X(log_rotate)                \
  X(ping)                      \
  X(refresh_sessions)          \
  X(server_status)             \
  X(set_parameter)             \
  X(shutdown)                  \
  X(start_session)             \
  X(whatsmyuri)

namespace server {
class Command;
}
