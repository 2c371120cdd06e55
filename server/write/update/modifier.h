// A modifier is what one operator does to one path: the 5 in {$inc: {a: 5}}.
//
// It gets the value at the path and returns the value that replaces it. The tree
// (node.h) walks the document, makes missing levels and puts the value in its
// place.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/collator.h"
#include "bson/diff.h"
#include "bson/document.h"
#include "bson/value.h"
#include "server/core/allowance.h"

namespace server::write {

// A Predicate is a compiled filter. The query language provides the compiler; tests of the update language need only a lambda.
using Predicate = std::function<bool(bson::DocumentView document)>;
using PredicateCompiler = std::function<Predicate(bson::DocumentView filter)>;

// arrayFilters, by identifier; each matches {identifier: element}.
using ArrayFilters = std::map<std::string, Predicate, std::less<>>;

// An Application is one application of an update to one document.
struct Application {
  bson::DocumentView document;    // as it was before
  bool inserting = false;         // an upsert is making the document
  std::optional<size_t> matched;  // the position that `$` stands for
  const ArrayFilters* array_filters = nullptr;
  int64_t now_ms = 0;
  bson::Timestamp timestamp;                 // for $currentDate and Timestamp(0, 0)
  const bson::Collator* collator = nullptr;  // strings are compared by it; Update::apply sets it
  Allowance* allowance = nullptr;  // the walk and the operators account for their work to it; nullptr: nobody can stop them

  void work(size_t units = 1) const {
    if (allowance) allowance->work(units);
  }
  void work_on(size_t bytes) const {
    if (allowance) allowance->work_on(bytes);
  }

  // The objects and arrays that were set as a whole. Where their paths would be longer than a document, the last ones are left
  // out: the log's diff goes down into those.
  bson::diff::WholePaths whole = {};
  size_t whole_bytes = 0;
  size_t pending_bytes = 0;  // of values that the walk has made, and that aren't in the document yet

  std::vector<std::string> path;  // leads to the place of the walk
  std::string dotted() const;
  std::string_view field() const { return path.empty() ? std::string_view() : std::string_view(path.back()); }
  std::string id_text() const;  // "{_id: 1}", for messages
};

struct Change {
  enum class Kind { keep, set, remove };
  Kind kind = Kind::keep;
  bson::Value value;

  static Change keep() { return {}; }
  static Change remove() { return {Kind::remove, {}}; }
  static Change set(bson::Value value) { return {Kind::set, std::move(value)}; }
  explicit operator bool() const { return kind != Kind::keep; }
};

// Immutable, so one tree serves all threads.
class Modifier {
 public:
  virtual ~Modifier() = default;

  // `current` is missing if there is no value. A value that equals the current one byte for byte counts as no change. Throws
  // OperationError if the operator can't apply.
  virtual Change apply(const bson::ValueView& current, const Application& application) const = 0;

  // Returns whether it creates a missing path: $set does, $unset doesn't.
  virtual bool creates(const Application&) const { return true; }
  // Operators that don't create their path ignore one that a scalar blocks.
  virtual bool tolerates_blocked_path() const { return false; }
  // If true, an array keeps its elements and gets others behind them.
  virtual bool appends() const { return false; }
  // Only $setOnInsert returns true.
  virtual bool only_on_insert() const { return false; }
};

}  // namespace server::write
