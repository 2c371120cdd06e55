// The list of commands: one line each, in the order of their names.
// X(ping) stands for `std::unique_ptr<Command> make_ping_command();`, defined in
// commands/ping.cpp.
#pragma once

#define PALIMPSEST_COMMANDS(X) \
  X(aggregate)                 \
  X(append_oplog_note)         \
  X(build_info)                \
  X(coll_mod)                  \
  X(coll_stats)                \
  X(compact)                   \
  X(configure_fail_point)      \
  X(connection_status)         \
  X(count)                     \
  X(create)                    \
  X(create_branch)             \
  X(create_indexes)            \
  X(current_op)                \
  X(data_size)                 \
  X(db_hash)                   \
  X(db_stats)                  \
  X(dedup_advise)              \
  X(dedup_chain)               \
  X(delete)                    \
  X(distinct)                  \
  X(drop)                      \
  X(drop_branch)               \
  X(drop_database)             \
  X(drop_indexes)              \
  X(end_sessions)              \
  X(explain)                   \
  X(features)                  \
  X(find)                      \
  X(find_and_modify)           \
  X(fsync)                     \
  X(fsync_unlock)              \
  X(get_cmd_line_opts)         \
  X(get_default_rw_concern)    \
  X(get_log)                   \
  X(get_more)                  \
  X(get_parameter)             \
  X(hello)                     \
  X(host_info)                 \
  X(initial_sync_begin)        \
  X(initial_sync_end)          \
  X(initial_sync_files)        \
  X(initial_sync_read)         \
  X(insert)                    \
  X(is_master)                 \
  X(kill_all_sessions)         \
  X(kill_all_sessions_by_pattern) \
  X(kill_cursors)              \
  X(kill_op)                   \
  X(kill_sessions)             \
  X(list_branches)             \
  X(list_collections)          \
  X(list_commands)             \
  X(list_databases)            \
  X(list_indexes)              \
  X(log_rotate)                \
  X(ping)                      \
  X(refresh_sessions)          \
  X(refresh_logical_session_cache_now) \
  X(rename_collection)         \
  X(repl_set_freeze)           \
  X(repl_set_get_config)       \
  X(repl_set_get_status)       \
  X(repl_set_heartbeat)        \
  X(repl_set_initiate)         \
  X(repl_set_maintenance)      \
  X(repl_set_reconfig)         \
  X(repl_set_step_down)        \
  X(restart_in_place)          \
  X(server_status)             \
  X(set_default_rw_concern)    \
  X(set_parameter)             \
  X(shutdown)                  \
  X(start_session)             \
  X(update)                    \
  X(validate)                  \
  X(whatsmyuri)

namespace server {
class Command;
}
