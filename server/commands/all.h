// This file lists the commands, one line each, in the order of their names.
// X(ping) stands for `std::unique_ptr<Command> make_ping_command();`, which the
// file ping.cpp of one of the folders here defines: each command is in the file of
// its name. What several commands share is in a helper file beside them.
#pragma once

#define PALIMPSEST_COMMANDS(X)         \
  X(abort_merge)                       \
  X(abort_transaction)                 \
  X(aggregate)                         \
  X(append_oplog_note)                 \
  X(apply_ops)                         \
  X(build_info)                        \
  X(bulk_write)                        \
  X(cherry_pick)                       \
  X(clone_collection_as_capped)        \
  X(coll_mod)                          \
  X(coll_stats)                        \
  X(commit)                            \
  X(commit_transaction)                \
  X(compact)                           \
  X(configure_fail_point)              \
  X(conn_pool_stats)                   \
  X(conn_pool_sync)                    \
  X(connection_status)                 \
  X(continue_merge)                    \
  X(convert_to_capped)                 \
  X(coordinate_commit_transaction)     \
  X(count)                             \
  X(create)                            \
  X(create_branch)                     \
  X(create_indexes)                    \
  X(create_search_indexes)             \
  X(create_snapshot)                   \
  X(create_tag)                        \
  X(current_op)                        \
  X(data_size)                         \
  X(db_hash)                           \
  X(db_stats)                          \
  X(dedup_advise)                      \
  X(dedup_chain)                       \
  X(delete)                            \
  X(diff)                              \
  X(distinct)                          \
  X(driver_oid)                        \
  X(drop)                              \
  X(drop_branch)                       \
  X(drop_database)                     \
  X(drop_indexes)                      \
  X(drop_search_index)                 \
  X(drop_snapshot)                     \
  X(drop_tag)                          \
  X(end_sessions)                      \
  X(explain)                           \
  X(features)                          \
  X(filemd5)                           \
  X(find)                              \
  X(find_and_modify)                   \
  X(flush_router_config)               \
  X(fsync)                             \
  X(fsync_unlock)                      \
  X(get_cmd_line_opts)                 \
  X(get_cluster_parameter)             \
  X(get_default_rw_concern)            \
  X(get_diagnostic_data)               \
  X(get_log)                           \
  X(get_more)                          \
  X(get_parameter)                     \
  X(get_proof)                         \
  X(get_shard_map)                     \
  X(hello)                             \
  X(host_info)                         \
  X(initial_sync_begin)                \
  X(initial_sync_end)                  \
  X(initial_sync_files)                \
  X(initial_sync_read)                 \
  X(insert)                            \
  X(is_master)                         \
  X(kill_all_sessions)                 \
  X(kill_all_sessions_by_pattern)      \
  X(kill_cursors)                      \
  X(kill_op)                           \
  X(kill_sessions)                     \
  X(list_branches)                     \
  X(list_collections)                  \
  X(list_conflicts)                    \
  X(list_commands)                     \
  X(list_databases)                    \
  X(list_indexes)                      \
  X(list_search_indexes)               \
  X(list_snapshots)                    \
  X(list_tags)                         \
  X(lock_info)                         \
  X(log)                               \
  X(log_rotate)                        \
  X(logout)                            \
  X(map_reduce)                        \
  X(merge)                             \
  X(ping)                              \
  X(plan_cache_clear)                  \
  X(plan_cache_clear_filters)          \
  X(plan_cache_list_filters)           \
  X(plan_cache_set_filter)             \
  X(profile)                           \
  X(purge)                             \
  X(re_index)                          \
  X(refresh_sessions)                  \
  X(refresh_logical_session_cache_now) \
  X(rename_branch)                     \
  X(rename_collection)                 \
  X(repl_set_freeze)                   \
  X(repl_set_get_config)               \
  X(repl_set_get_status)               \
  X(repl_set_heartbeat)                \
  X(repl_set_initiate)                 \
  X(repl_set_maintenance)              \
  X(repl_set_reconfig)                 \
  X(repl_set_step_down)                \
  X(reset_branch)                      \
  X(resolve_conflict)                  \
  X(restart_in_place)                  \
  X(retention)                         \
  X(revert)                            \
  X(roles_info)                        \
  X(rotate_certificates)               \
  X(server_status)                     \
  X(set_cluster_parameter)             \
  X(set_default_rw_concern)            \
  X(set_feature_compatibility_version) \
  X(set_parameter)                     \
  X(sharding_state)                    \
  X(shutdown)                          \
  X(start_session)                     \
  X(status)                            \
  X(sweep)                             \
  X(top)                               \
  X(update)                            \
  X(update_search_index)               \
  X(users_info)                        \
  X(validate)                          \
  X(validate_db_metadata)              \
  X(verify)                            \
  X(version_stats)                     \
  X(whatsmyuri)

namespace server {

class CommandRegistry;

// Adds every command of the list.
void add_all_commands(CommandRegistry& registry);

}  // namespace server
