// A projection says which part of a document is returned.
//
//   {name: 1, "address.city": 1}      inclusion: these and _id
//   {secret: 0}                       exclusion: all but these
//   {comments: {$slice: -3}}          of arrays: $slice, $elemMatch, positional "items.$"
//   {total: {$add: ["$a", "$b"]}}     computed, through the expression plug
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"
#include "server/query/matcher.h"
#include "server/query/parse_context.h"

namespace server::query {

// A projection is read-only after parsing.
class Projection {
 public:
  // `matcher` is needed for the positional operator; it must live as long. Throws in MongoDB's words (31249, 31253, 31254 …).
  static std::unique_ptr<Projection> parse(bson::DocumentView specification, const Matcher* matcher,
                                           const ParseContext& context = {});
  ~Projection();

  // Counts the document while it grows, in the allowance of the context; from its return on, the caller does. Throws
  // ExceededMemoryLimit, and what its expressions throw.
  bson::Document apply(bson::DocumentView document) const;

  bool inclusion() const;
  // Returns true if it only includes or excludes plain fields: explain says PROJECTION_SIMPLE.
  bool simple() const;
  bool keeps_id() const;
  // If it only includes fields, returns their paths, with `_id` if that is kept.
  std::optional<std::vector<std::string>> included_paths() const;
  bool positional() const;

 private:
  struct State;
  explicit Projection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace server::query
