// $push, with $each, $position, $slice and $sort, inserts elements, sorts the
// array and cuts it.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/path.h"
#include "server/write/update/operators/families.h"
#include "server/write/update/shell_text.h"

namespace server::write {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::ValueView;

struct SortKey {
  std::string path;  // empty: it sorts by the element itself
  int sign;
};

struct PushClauses {
  std::vector<bson::Value> values;
  std::optional<int64_t> position;
  std::optional<int64_t> slice;
  std::vector<SortKey> sort;
};

int compare_by(const std::vector<SortKey>& keys, const ValueView& a, const ValueView& b, const bson::Collator* collator) {
  static const bson::Value null = bson::Value::null();
  const auto part = [](const ValueView& element, const std::string& path) {
    if (path.empty()) return element;
    const ValueView found = element.is_object() ? bson::value_at(element.as_document(), path) : ValueView();
    return found.exists() ? found : null.view();
  };
  for (const SortKey& key : keys) {
    const int order = bson::compare(part(a, key.path), part(b, key.path), collator);
    if (order != 0) return order * key.sign;
  }
  return 0;
}

class Push : public Modifier {
 public:
  explicit Push(PushClauses clauses) : clauses_(std::move(clauses)) {}

  Change apply(const ValueView& current, const Application& application) const override {
    if (current.exists() && !current.is_array()) {
      throw OperationError(ErrorCode::bad_value, "The field '" + application.dotted() + "' must be an array but is of type " +
                                                     std::string(bson::type_name(current.type())) + " in document " +
                                                     application.id_text());
    }
    std::vector<ValueView> elements;
    if (current.exists()) {
      for (const auto& element : current.as_document()) elements.push_back(element);
    }
    elements.insert(elements.begin() + place(elements.size()), clauses_.values.begin(), clauses_.values.end());
    if (!clauses_.sort.empty()) {
      std::stable_sort(elements.begin(), elements.end(), [&](const ValueView& a, const ValueView& b) {
        application.work(clauses_.sort.size());
        application.work_on(std::min(a.bytes().size(), b.bytes().size()));
        return compare_by(clauses_.sort, a, b, application.collator) < 0;
      });
    }
    cut(elements);
    bson::ArrayBuilder out;
    for (const auto& element : elements) out.append(element);
    return Change::set(out.done_value());
  }
  bool appends() const override { return !clauses_.position && !clauses_.slice && clauses_.sort.empty(); }

 private:
  // Negative positions count from the end.
  std::ptrdiff_t place(size_t count) const {
    const int64_t size = static_cast<int64_t>(count);
    if (!clauses_.position || *clauses_.position >= size) return size;
    if (*clauses_.position >= 0) return *clauses_.position;
    return std::max<int64_t>(0, *clauses_.position < -size ? 0 : size + *clauses_.position);
  }

  void cut(std::vector<ValueView>& elements) const {
    if (!clauses_.slice) return;
    const uint64_t keep =
        *clauses_.slice < 0 ? 0 - static_cast<uint64_t>(*clauses_.slice) : static_cast<uint64_t>(*clauses_.slice);
    if (keep >= elements.size()) return;
    if (*clauses_.slice >= 0)
      elements.resize(keep);
    else
      elements.erase(elements.begin(), elements.end() - static_cast<std::ptrdiff_t>(keep));
  }

  PushClauses clauses_;
};

int64_t whole_number(const bson::Element& clause, const char* expectation) {
  const double value = clause.to_double();
  if (!clause.is_number() || !(clause.is_integer() || (std::isfinite(value) && value == std::trunc(value)))) {
    throw OperationError(ErrorCode::bad_value, std::string("The value for ") + std::string(clause.name) +
                                                   " must be an integer value" + expectation +
                                                   std::string(bson::type_name(clause.type())));
  }
  return clause.to_int64();
}

int sort_sign(const ValueView& direction, const char* message) {
  const bool valid = direction.is_number() && std::abs(direction.to_double()) == 1.0;
  if (!valid) throw OperationError(ErrorCode::bad_value, message);
  return direction.to_double() < 0 ? -1 : 1;
}

std::vector<SortKey> parse_sort(const bson::Element& clause) {
  if (clause.is_number()) return {{"", sort_sign(clause, "The $sort element value must be either 1 or -1")}};
  if (!clause.is_object()) {
    throw OperationError(ErrorCode::bad_value,
                         "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields");
  }
  std::vector<SortKey> keys;
  for (const auto& key : clause.as_document()) {
    if (key.name.empty()) throw OperationError(ErrorCode::bad_value, "The $sort field cannot be empty");
    const auto parts = bson::split_path(key.name);
    if (std::find(parts.begin(), parts.end(), "") != parts.end()) {
      throw OperationError(ErrorCode::bad_value,
                           "The $sort field is a dotted field but has an empty part: " + std::string(key.name));
    }
    keys.push_back({std::string(key.name), sort_sign(key, "The $sort element value must be either 1 or -1")});
  }
  if (keys.empty()) {
    throw OperationError(ErrorCode::bad_value, "The $sort pattern is empty when it should be a set of fields.");
  }
  return keys;
}

PushClauses parse_clauses(bson::DocumentView argument) {
  PushClauses clauses;
  for (const auto& clause : argument) {
    if (clause.name == "$each") {
      if (!clause.is_array()) {
        throw OperationError(ErrorCode::bad_value, "The argument to $each in $push must be an array but it was of type: " +
                                                       std::string(bson::type_name(clause.type())));
      }
      for (const auto& value : clause.as_document()) clauses.values.emplace_back(value);
    } else if (clause.name == "$position") {
      clauses.position = whole_number(clause, ", not of type: ");
    } else if (clause.name == "$slice") {
      clauses.slice = whole_number(clause, " but was given type: ");
    } else if (clause.name == "$sort") {
      clauses.sort = parse_sort(clause);
    } else {
      throw OperationError(ErrorCode::bad_value, "Unrecognized clause in $push: " + std::string(clause.name));
    }
  }
  return clauses;
}

}  // namespace

std::shared_ptr<const Modifier> make_push(const bson::Element& argument, const PredicateCompiler&) {
  if (argument.is_object() && argument.as_document().has("$each")) {
    return std::make_shared<Push>(parse_clauses(argument.as_document()));
  }
  PushClauses clauses;
  clauses.values.emplace_back(argument);
  return std::make_shared<Push>(std::move(clauses));
}

}  // namespace server::write
