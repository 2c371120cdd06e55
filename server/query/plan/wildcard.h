// The planner sees a wildcard index as an index of its own for each path that the query asks about.
//
//   {"$**": 1}, {a: 5}               {$_path: 1, a: 1}    the entries of that path, in the order of their values
//   {"$**": 1}, {a: {$exists: 1}}    {$_path: 1, a: 1}    the entries of that path and of those below it
//   {b: 1, "$**": 1}, {b: 5}         {b: 1, $_path: 1}    all entries
//
// A number in a path may be a position in an array, which is no part of the entries' paths. Then the scan looks at the path with
// and without the number, and at the arrays within the array, which are entries as they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/query/plan/access.h"

namespace server::query::plan {

class WildcardView final : public storage::Index {
 public:
  using Base = std::shared_ptr<const storage::Index>;
  enum class Reach { values, below, all };

  // `key_paths` are the paths that entries may have for `path`. `nested`: arrays within arrays are looked at, too.
  WildcardView(Base base, std::string path, Reach reach, const std::vector<std::string>& key_paths, bool nested);

  const Intervals& path_bounds() const { return path_bounds_; }
  bool is_path(size_t i) const { return i == position_; }
  bool is_value(size_t i) const { return reach_ != Reach::all && i == position_ + 1; }
  bool nested() const { return nested_; }
  Reach reach() const { return reach_; }

  bool multikey() const override;
  bool multikey_field(size_t i) const override { return is_value(i) && multikey(); }
  std::vector<std::string> multikey_paths(size_t i) const override;
  bool repeats() const override { return reach_ != Reach::values || several_paths_ || multikey(); }
  bool is_id() const override { return false; }
  bool ready() const override { return base_->ready(); }
  storage::IndexStats stats() const override { return base_->stats(); }
  void count_access() const override { base_->count_access(); }
  const storage::DocumentPredicate* partial_predicate() const override { return base_->partial_predicate(); }
  const storage::Index& stored() const override { return base_->stored(); }

 private:
  const Base base_;
  const std::string path_;
  const Reach reach_;
  const size_t position_;  // of $_path among the fields
  const bool several_paths_;
  const bool nested_;
  Intervals path_bounds_;
};

// Returns the scans of a wildcard index that find every match. It decides nothing about partial indexes.
std::vector<Access> wildcard_scans(const std::shared_ptr<const storage::Index>& index, const Predicates& predicates,
                                   Allowance& allowance);

// Returns whether the entries of the scan have the values of the index's fields as the documents have them. An entry of another
// path hasn't, and the entry {} stands for objects of which nothing is in the index.
bool entries_tell_values(const Access& access);

}  // namespace server::query::plan
