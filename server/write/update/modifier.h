// A modifier is what one operator does to one path: the 5 in {$inc: {a: 5}}.
//
// It sees the value that stands there and answers what shall stand there
// after; walking the document, making missing levels and putting the answer in
// its place is the tree's work (node.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "bson/value.h"

namespace server::write {

// A compiled filter, and how one is made. The query language plugs in here;
// tests of the update language need no more than a lambda.
using Predicate = std::function<bool(bson::DocumentView document)>;
using PredicateCompiler = std::function<Predicate(bson::DocumentView filter)>;

// arrayFilters, by identifier; each matches {identifier: element}.
using ArrayFilters = std::map<std::string, Predicate, std::less<>>;

// What one application of an update to one document knows.
struct Application {
  bson::DocumentView document;    // as it was before
  bool inserting = false;         // the document is being made by an upsert
  std::optional<size_t> matched;  // what `$` stands for
  const ArrayFilters* array_filters = nullptr;
  int64_t now_ms = 0;
  bson::Timestamp timestamp;  // for $currentDate and Timestamp(0, 0)

  std::vector<std::string> path;  // to where the walk is
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

  // `current` is missing where nothing stands. Setting what already stands there, byte for byte,
  // is taken for no change. Throws OperationError where it can't apply.
  virtual Change apply(const bson::ValueView& current, const Application& application) const = 0;

  // It makes its path where that is missing: $set does, $unset doesn't.
  virtual bool creates(const Application&) const { return true; }
  // Those that don't create: a path blocked by a scalar is nothing to complain about.
  virtual bool tolerates_blocked_path() const { return false; }
  // $setOnInsert.
  virtual bool only_on_insert() const { return false; }
};

}  // namespace server::write
