// $addToSet appends values that an array doesn't have yet, by MongoDB's
// comparison.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "server/write/update/operators/families.h"
#include "server/write/update/shell_text.h"

namespace server::write {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::ValueView;

using ValueSet = std::unordered_set<ValueView, bson::ValueHash, bson::ValueEqual>;

class AddToSet : public Modifier {
 public:
  explicit AddToSet(std::vector<bson::Value> values) : values_(std::move(values)) {}

  Change apply(const ValueView& current, const Application& application) const override {
    if (current.exists() && !current.is_array()) {
      throw OperationError(ErrorCode::bad_value, "Cannot apply $addToSet to non-array field. Field named '" +
                                                     std::string(application.field()) + "' has non-array type " +
                                                     std::string(bson::type_name(current.type())));
    }
    bson::ArrayBuilder out;
    ValueSet present(0, bson::ValueHash{application.collator}, bson::ValueEqual{application.collator});
    if (current.exists()) {
      for (const auto& element : current.as_document()) {
        application.work();
        out.append(static_cast<ValueView>(element));
        present.insert(element);
      }
    }
    bool added = !current.exists();
    for (const auto& value : values_) {
      application.work();
      if (!present.insert(value.view()).second) continue;
      out.append(value.view());
      added = true;
    }
    return added ? Change::set(out.done_value()) : Change::keep();
  }
  bool appends() const override { return true; }

 private:
  std::vector<bson::Value> values_;
};

}  // namespace

std::shared_ptr<const Modifier> make_add_to_set(const bson::Element& argument, const PredicateCompiler&) {
  std::vector<bson::Value> values;
  const auto first = argument.is_object() ? argument.as_document().first() : bson::Element();
  if (first.name != "$each") {
    values.emplace_back(argument);
    return std::make_shared<AddToSet>(std::move(values));
  }
  if (!first.is_array()) {
    throw OperationError(ErrorCode::type_mismatch, "The argument to $each in $addToSet must be an array but it was of type " +
                                                       std::string(bson::type_name(first.type())));
  }
  if (argument.as_document().count() > 1) {
    throw OperationError(ErrorCode::bad_value,
                         "Found unexpected fields after $each in $addToSet: " + shell_text(argument.as_document()));
  }
  for (const auto& value : first.as_document()) values.emplace_back(value);
  return std::make_shared<AddToSet>(std::move(values));
}

}  // namespace server::write
