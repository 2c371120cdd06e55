// These functions decide which namespaces a user's commands may write to, create
// and drop.
#pragma once

#include <string_view>

namespace server::write {

inline std::string_view database_of(std::string_view ns) {
  return ns.substr(0, ns.find('.'));
}
inline std::string_view collection_of(std::string_view ns) {
  return ns.substr(ns.find('.') + 1);
}

inline bool is_oplog(std::string_view ns) {
  return ns == "local.oplog.rs";
}
// Branches with this prefix, and collections that have 16 hexadecimal digits behind it, are unfinished: what writes them renames
// them at the end, or drops them, and so does the next start or the next primary. No client gives a branch such a name, but tools
// restore collections that a `$out` had when they were dumped.
inline constexpr std::string_view unfinished_prefix = "tmp.agg_out.";
bool is_unfinished(std::string_view ns);
std::string unfinished_name();  // a new one
// Throws InvalidNamespace for such a branch.
void check_branch_creatable(std::string_view name);

bool is_system(std::string_view ns);  // a collection whose name begins with "system."

// Each throws InvalidNamespace (73), IllegalOperation (20) or MongoDB's other errors.
void check_writable(std::string_view ns);
void check_creatable(std::string_view ns);
void check_droppable(std::string_view ns);
void check_renamable(std::string_view from, std::string_view to);

}  // namespace server::write
