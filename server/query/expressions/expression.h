// Expressions are what $project, $group, $expr and update pipelines compute.
//
// They are parsed once into a tree, and evaluated once per document:
//
//   {$add: ["$price", {$multiply: ["$n", 2]}]}
//
//          add
//         /   \            field paths read the document where it lies,
//    $price   multiply     constants are values already,
//             /     \      operators come from the registry by name
//           $n       2
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bson/collator.h"
#include "bson/document.h"
#include "bson/value.h"
#include "server/core/allowance.h"

namespace server::query {

class MetadataPlace;
class Scope;

// A frame is one evaluation's state: the document and the values of the variables.
struct Frame {
  // The expressions were parsed in `scope`. It accounts for the work of making the slots.
  explicit Frame(const Scope& scope, bson::DocumentView root = {});

  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  bson::DocumentView root;
  std::vector<bson::Value> slots;  // of let, $map …; the parser gave out the indexes

  // Goes on to another document: values of the one before are gone.
  void begin(bson::DocumentView document) {
    root = document;
    held_.set(0);
  }

  // Accounts for work, of an operator or of an element that it looks at (server/core/allowance.h). Throws when the operation is
  // to stop.
  void work(size_t units = 1) {
    if (allowance_) allowance_->work(units);
  }
  // Strings are compared by it; nullptr: as bytes.
  const bson::Collator* collator() const { return collator_; }

  void work_on(size_t bytes) {
    if (allowance_) allowance_->work_on(bytes);
  }
  // nullptr: nobody can stop the evaluation.
  Allowance* allowance() const { return allowance_; }

  // Finds a field, as DocumentView::find does, and accounts for the fields that it passes over.
  bson::Element find(bson::DocumentView document, std::string_view name) {
    const bson::Element found = document.find(name);
    work_on(found.exists() ? static_cast<size_t>(found.name.data() - document.bytes().data()) : document.size());
    return found;
  }

  // Counts the bytes of values that operators keep while they compute. What an operator holds is released when it returns, and
  // its value is held instead, until the operator that asked for it returns. Throws ExceededMemoryLimit.
  void hold(size_t bytes) { held_.add(bytes); }
  size_t held() const { return held_.bytes(); }
  // An operator that computes a value for each of many elements holds, after each, just what it keeps besides the `held` that it
  // began with.
  void keep(size_t held, size_t bytes) { held_.set(held + bytes); }
  // An operator counts the value that it builds with it. What is held for the value's parts, which it copies, is released.
  Growth growth() { return Growth(held_); }

 private:
  const bson::Collator* collator_;
  Allowance* allowance_;
  MemoryBudget unlimited_{nullptr};  // without an allowance
  Held held_;
};

// Immutable after parsing; evaluate() may run in many threads with a frame each.
class Expression {
 public:
  virtual ~Expression() = default;
  // Returns a missing value (type eod) if the expression has no value. Throws OperationError.
  bson::Value evaluate(Frame& frame) const {
    const size_t held = frame.held();
    bson::Value value = compute(frame);
    const size_t bytes = value.view().bytes().size();
    frame.keep(held, bytes);
    if (bytes >= copy_bytes) [[unlikely]]
      frame.work_on(bytes);
    return value;
  }
  // Does the same without a copy if the value already lies somewhere: in the document, a constant, a slot. Otherwise `scratch`
  // holds it.
  virtual bson::ValueView view(Frame& frame, bson::Value& scratch) const {
    scratch = evaluate(frame);
    return scratch.view();
  }
  // Returns its value if it needs no document: it is computed while parsing.
  virtual const bson::Value* constant() const { return nullptr; }
  // Returns "a.b" if it is just a field path of the document; planners look for those.
  virtual std::optional<std::string_view> field_path() const { return std::nullopt; }

 protected:
  virtual bson::Value compute(Frame& frame) const = 0;

 private:
  static constexpr size_t copy_bytes = 256;  // the copy of a shorter value is part of its operator's work
};
using ExpressionPtr = std::unique_ptr<Expression>;

// A scope has the variables that are visible while parsing. Each pipeline or filter has one; nested scopes shadow. Slots are
// given out once and never used again.
class Scope {
 public:
  // $$NOW gives `now_ms`, the same all through a command. Evaluation accounts for its work to `allowance`, which must live as
  // long as the frames; nullptr: nobody can stop it.
  explicit Scope(int64_t now_ms, Allowance* allowance = nullptr);

  // Defines a variable of the command (`let`), whose value is known from the start. The scope counts its bytes. Throws
  // ExceededMemoryLimit.
  void define(std::string name, bson::Value value);
  // Defines a variable from here until the matching `leave`.
  int enter(std::string name);
  void leave(size_t count = 1);

  // Returns nullopt if there is no such variable.
  std::optional<int> find(std::string_view name) const;
  std::shared_ptr<const bson::Value> defined(std::string_view name) const;
  int64_t now_ms() const { return now_ms_; }
  Allowance* allowance() const { return allowance_; }
  // Accounts for the work of the parser.
  void work(size_t units = 1) const {
    if (allowance_) allowance_->work(units);
  }
  // Counts bytes that an expression copies from variables while it is parsed. Throws ExceededMemoryLimit.
  void hold_part(size_t bytes);
  // Returns the bytes of those parts, and of the variables that expressions name: the expressions keep them, also after the
  // scope.
  size_t kept() const;
  // The expressions that are parsed and evaluated from here on compare strings by it.
  void set_collator(bson::CollatorPtr collator) { collator_ = std::move(collator); }
  const bson::CollatorPtr& collator() const { return collator_; }
  int slots() const { return slots_; }
  // $meta reads the metadata of the current document from here; whoever moves from document to document writes them. nullptr:
  // there are none.
  void set_metadata(std::shared_ptr<MetadataPlace> place) { metadata_ = std::move(place); }
  const std::shared_ptr<MetadataPlace>& metadata() const { return metadata_; }

  // The parser notes what an expression reads: the document, a slot, chance. An operator that reads nothing is computed while it
  // is parsed (registry.cpp).
  void note_read() { ++reads_; }
  size_t reads() const { return reads_; }
  // The first error of an operator that was computed so. Its expression throws it again when it is evaluated; a pipeline fails
  // before it runs.
  void note_failure(base::OperationError error) {
    if (!failure_) failure_ = std::move(error);
  }
  const std::optional<base::OperationError>& failure() const { return failure_; }
  // Forgets it. An operator that may leave out a part of itself notes it again, or not.
  std::optional<base::OperationError> take_failure() { return std::exchange(failure_, std::nullopt); }

 private:
  struct Variable {
    std::string name;
    int slot;
    std::shared_ptr<const bson::Value> value;  // only of defined ones
    const Variable* shadowed;                  // the one of that name that is visible again after it
  };
  void add(std::string name, int slot, std::shared_ptr<const bson::Value> value);
  const Variable* visible(std::string_view name) const;

  std::deque<Variable> variables_;  // it doesn't move them
  std::unordered_map<std::string_view, const Variable*> visible_;
  int slots_ = 0;
  int64_t now_ms_;
  Allowance* allowance_;
  MemoryBudget unlimited_{nullptr};  // without an allowance
  Held held_;                        // variables_ and parts_
  size_t parts_ = 0;
  bson::CollatorPtr collator_;
  std::shared_ptr<MetadataPlace> metadata_;
  size_t reads_ = 0;
  std::optional<base::OperationError> failure_;
};

// Throws OperationError with MongoDB's codes for a value that isn't an expression.
ExpressionPtr parse_expression(const bson::ValueView& value, Scope& scope);

// Parses an operator's arguments: an array's elements, or the one value.
std::vector<ExpressionPtr> parse_arguments(const bson::ValueView& value, Scope& scope);

// Evaluates "$a.b" without its dollar: the value of "a.b" in a document, mapped over arrays on the way.
bson::Value evaluate_path(bson::DocumentView document, std::string_view path);

ExpressionPtr make_constant(bson::Value value);

}  // namespace server::query
