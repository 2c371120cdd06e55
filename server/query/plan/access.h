// An Access is one way to get the matching records, before it runs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "server/query/match/node.h"
#include "server/query/plan/interval.h"
#include "server/query/sort_pattern.h"
#include "storage/collections/collection.h"

namespace server::query::match {
class Text;
}

namespace server::query::plan {

// The filter as a list of predicates, all of which must hold.
using Predicates = std::vector<const match::Node*>;
Predicates flatten(const match::Node& root);

struct Access {
  enum class Kind { nothing, collection, id, index, any_of, text, near, all_of };
  Kind kind = Kind::collection;
  storage::Direction direction = storage::Direction::forward;
  Predicates residual;  // predicates that are still to be checked on each document
  bool sorted = false;  // records come in the order of the sort

  bson::ValueView id;  // Kind::id

  std::shared_ptr<const storage::Index> index;  // Kind::index
  std::vector<Intervals> fields;                // bounds, as explain shows them
  std::vector<storage::KeyRange> ranges;        // the same as keys
  Predicates bounded;                           // the predicates behind the bounds
  size_t points = 0;                            // leading fields bound to single values
  std::vector<bool> values;  // covered: for each field, whether its value is read from the key; empty: documents are fetched
  std::optional<size_t> distinct;  // only one entry is wanted for each value of this field, with those before it
  bool one_record = false;         // a unique index with every field bound to one value

  // Kind::any_of: the branches; if they are sorted, they are merged. Kind::index: scans of parts of the bounds, sorted and to be
  // merged; empty: one scan of them all. Kind::all_of: scans in the order of records, which are intersected.
  std::vector<Access> branches;

  // Kind::text, with `index`; each of `ranges` has one term's entries, in the order of the terms. The bytes of their keys before
  // the score:
  std::vector<bson::Bytes> terms;
  const match::Text* text = nullptr;
  bson::Document text_prefix;  // the values of the fields before the terms

  const match::Node* near = nullptr;  // Kind::near: the predicate that orders records by distance, and its field of the index
  size_t near_field = 0;
};

// Returns about how many bytes it keeps.
size_t bytes_of(const Access& access);

// Returns the scan of `index` that these predicates allow; without bounds it scans the whole index. It decides nothing about
// sparse or partial indexes.
Access index_access(std::shared_ptr<const storage::Index> index, const Predicates& predicates, Allowance& allowance);

// Returns true if the path has a number, which means a position or a field's name: the index and the filter may mean different
// things.
bool has_position(std::string_view path);

// Returns whether the scan's order is the sort's, and then in which direction.
bool provides_sort(const Access& access, const SortPattern& sort, storage::Direction& direction);

// Returns whether every document that matches is in the index.
bool has_all_matches(const storage::Index& index, const Predicates& predicates, bool leading_bounded, Allowance& allowance);

// Turns bounds into ranges of keys. Fields after the first that isn't a list of points, or that has too many of them, can't
// narrow them; `fields` is cut accordingly. The values of several fields multiply, so where the ranges would become too many, or
// too many bytes, a field is bound by one interval that has all of its intervals.
struct KeyRanges {
  std::vector<storage::KeyRange> ranges;
  size_t fields = 0;  // whose bounds the ranges keep to
};
KeyRanges key_ranges(const storage::Index& index, std::vector<Intervals>& fields, Allowance& allowance);

}  // namespace server::query::plan
