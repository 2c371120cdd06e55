// A ref names a state of a database.
//
//   shop@dev          a branch
//   shop@v1           a tag
//   shop@3f9a2c1b     a commit, by the first hex digits of its id, eight at least
//   shop@dev~2        two commits before dev's last, along first parents
//   shop@dev^2        the second parent of dev's last commit
//
// A database's name can hold neither `.` nor `/`: there they are written %2E and %2F.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace versions {

struct DatabaseName {
  std::string_view database;
  std::optional<std::string_view> ref;  // what stands behind the `@`
};
DatabaseName split_name(std::string_view name);

struct Ref {
  std::string name;  // the name of a branch or tag, or the beginning of a commit's id
  struct Step {
    char kind;  // '~': `count` commits back along first parents; '^': to the parent of that number
    uint32_t count;
  };
  std::vector<Step> steps = {};
};

// Throws BadValue.
Ref parse_ref(std::string_view text);
// Returns the ref that the name of a database has behind its `@`; without one it is the branch main. Throws BadValue.
Ref ref_of_database(std::string_view db);
// Returns whether the name could be the beginning of a commit's id.
bool looks_like_commit(std::string_view name);
// Check what may name a branch, tag or commit, and what a branch or tag may be called. They throw BadValue.
void check_ref_name(std::string_view name);
void check_branch_name(std::string_view name);
// Checks what somebody may call a new branch, tag or declared snapshot. There may be branches and tags of other names, for which
// check_branch_name holds: those made before this rule, which a log or a file names. Throws BadValue.
void check_new_name(std::string_view name);
// Stashes are kept as tags whose names nobody else can give: ".stash/12/dev" is the stash 12, made on the branch dev.
std::string stash_name(uint64_t number, std::string_view branch);
bool is_stash_name(std::string_view name);
// The name as it stands in a database's name.
std::string escaped(std::string_view name);
// Returns the one name that stands for all by which clients may name a branch, tag or commit: "shop" for "shop@main", "shop@dev"
// for "shop@d%65v". Steps stay as they are written. A name whose ref is none of these is returned as it is: a moment, the
// "shop@*" of privileges, or nothing.
std::string usual_name(std::string_view db);
// The name of a database (shop), or of one of its branches (shop@dev), as the declared snapshot of this number shows it:
// shop@main@s42. Whatever branches and tags the database has, it means nothing else.
std::string name_in_snapshot(std::string_view db, uint64_t number);

}  // namespace versions
