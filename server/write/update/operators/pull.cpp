// $pull, $pullAll and $pop remove elements of an array; the others move up.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "server/query/field_path.h"
#include "server/query/match/parser.h"
#include "server/write/update/operators/families.h"
#include "server/write/update/shell_text.h"

namespace server::write {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::ValueView;

class Cull : public Modifier {
 public:
  bool creates(const Application&) const override { return false; }

  Change apply(const ValueView& current, const Application& application) const override {
    if (!current.is_array()) throw OperationError(ErrorCode::bad_value, "Cannot apply $pull to a non-array value");
    bson::ArrayBuilder out;
    bool removed = false;
    for (const auto& element : current.as_document()) {
      application.work();
      if (goes(element, application))
        removed = true;
      else
        out.append(static_cast<ValueView>(element));
    }
    return removed ? Change::set(out.done_value()) : Change::keep();
  }

 protected:
  virtual bool goes(const ValueView& element, const Application& application) const = 0;
};

// {$pull: {a: {b: 1}}} removes elements that are documents and match the filter.
class PullDocuments : public Cull {
 public:
  explicit PullDocuments(Predicate predicate) : predicate_(std::move(predicate)) {}

 protected:
  bool goes(const ValueView& element, const Application&) const override {
    return element.is_object() && predicate_(element.as_document());
  }

 private:
  Predicate predicate_;
};

// {$pull: {a: {$gt: 5}}} has a condition about the element itself, of any type.
class PullValues : public Cull {
 public:
  explicit PullValues(Predicate predicate) : predicate_(std::move(predicate)) {}

 protected:
  bool goes(const ValueView& element, const Application&) const override {
    bson::Builder wrapped;
    wrapped.append("v", element);
    return predicate_(wrapped.done());
  }

 private:
  Predicate predicate_;
};

class PullEqual : public Cull {
 public:
  explicit PullEqual(std::vector<bson::Value> values) : values_(std::move(values)), set_(values_.begin(), values_.end()) {}

 protected:
  bool goes(const ValueView& element, const Application& application) const override {
    if (!application.collator) return set_.count(element) > 0;
    application.work(values_.size());
    return std::any_of(values_.begin(), values_.end(),
                       [&](const bson::Value& value) { return bson::equal(element, value, application.collator); });
  }

 private:
  std::vector<bson::Value> values_;
  std::unordered_set<ValueView, bson::ValueHash, bson::ValueEqual> set_;
};

// Some operators stand in place of a field's name, and so make the condition a filter over documents.
bool is_condition_on_value(bson::DocumentView condition) {
  const std::string_view first = condition.first().name;
  return first.starts_with("$") && first != "$not" && !query::match::is_top_operator(first) && !query::is_dbref_field(first);
}

class Pop : public Modifier {
 public:
  explicit Pop(bool first) : first_(first) {}
  bool creates(const Application&) const override { return false; }

  Change apply(const ValueView& current, const Application& application) const override {
    if (!current.is_array()) {
      throw OperationError(ErrorCode::type_mismatch, "Path '" + application.dotted() +
                                                         "' contains an element of non-array type '" +
                                                         std::string(bson::type_name(current.type())) + "'");
    }
    const bson::DocumentView elements = current.as_document();
    if (elements.empty()) return Change::keep();
    const size_t gone = first_ ? 0 : elements.count() - 1;
    bson::ArrayBuilder out;
    size_t index = 0;
    for (const auto& element : elements) {
      if (index++ != gone) out.append(static_cast<ValueView>(element));
    }
    return Change::set(out.done_value());
  }

 private:
  bool first_;
};

}  // namespace

std::shared_ptr<const Modifier> make_pull(const bson::Element& argument, const PredicateCompiler& compile) {
  const bool on_value =
      argument.type() == bson::Type::regex || (argument.is_object() && is_condition_on_value(argument.as_document()));
  if (on_value) {
    bson::Builder wrapped;
    wrapped.append("v", static_cast<ValueView>(argument));
    return std::make_shared<PullValues>(compile(wrapped.done()));
  }
  if (argument.is_object()) return std::make_shared<PullDocuments>(compile(argument.as_document()));
  return std::make_shared<PullEqual>(std::vector<bson::Value>{bson::Value(argument)});
}

std::shared_ptr<const Modifier> make_pull_all(const bson::Element& argument, const PredicateCompiler&) {
  if (!argument.is_array()) {
    throw OperationError(ErrorCode::bad_value,
                         "$pullAll requires an array argument but was given a " + std::string(bson::type_name(argument.type())));
  }
  std::vector<bson::Value> values;
  for (const auto& value : argument.as_document()) values.emplace_back(value);
  return std::make_shared<PullEqual>(std::move(values));
}

std::shared_ptr<const Modifier> make_pop(const bson::Element& argument, const PredicateCompiler&) {
  if (!argument.is_number()) {
    throw OperationError(ErrorCode::failed_to_parse, "Expected a number in: " + shell_field(argument.name, argument));
  }
  const double direction = argument.to_double();
  if (std::abs(direction) != 1.0) {
    throw OperationError(ErrorCode::failed_to_parse, "$pop expects 1 or -1, found: " + shell_text(argument));
  }
  return std::make_shared<Pop>(direction < 0);
}

}  // namespace server::write
