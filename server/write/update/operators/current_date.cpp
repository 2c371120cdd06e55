// $currentDate sets the operation's time as a date or a timestamp.
#include <optional>

#include "base/error.h"
#include "server/write/update/operators/families.h"

namespace server::write {
namespace {

using base::ErrorCode;
using base::OperationError;

class CurrentDate : public Modifier {
 public:
  explicit CurrentDate(bool timestamp) : timestamp_(timestamp) {}
  Change apply(const bson::ValueView&, const Application& application) const override {
    if (timestamp_) return Change::set(bson::Value(application.timestamp));
    return Change::set(bson::Value(bson::Date{application.now_ms}));
  }

 private:
  bool timestamp_;
};

}  // namespace

std::shared_ptr<const Modifier> make_current_date(const bson::Element& argument, const PredicateCompiler&) {
  if (argument.type() == bson::Type::boolean) return std::make_shared<CurrentDate>(false);
  if (!argument.is_object()) {
    throw OperationError(ErrorCode::bad_value,
                         std::string(bson::type_name(argument.type())) +
                             " is not valid type for $currentDate. Please use a boolean ('true') or a $type expression "
                             "({$type: 'timestamp/date'}).");
  }
  std::optional<bool> timestamp;
  for (const auto& field : argument.as_document()) {
    if (field.name != "$type") {
      throw OperationError(ErrorCode::bad_value, "Unrecognized $currentDate option: " + std::string(field.name));
    }
    timestamp.reset();
    if (field.is_string() && field.as_string() == "date") timestamp = false;
    if (field.is_string() && field.as_string() == "timestamp") timestamp = true;
  }
  if (timestamp) return std::make_shared<CurrentDate>(*timestamp);
  throw OperationError(ErrorCode::bad_value,
                       "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: "
                       "'date'}}}");
}

}  // namespace server::write
