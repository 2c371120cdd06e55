// This file has $inc, $mul and $bit.
#include "bson/arithmetic.h"
#include "base/error.h"
#include "server/write/update/operators/families.h"
#include "server/write/update/shell_text.h"

namespace server::write {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::Type;
using bson::Value;
using bson::ValueView;

enum class Operation { add, multiply };

// Returns a missing value if the result doesn't fit an int64. (Expressions continue with a double; updates refuse.)
Value compute(Operation operation, const ValueView& a, const ValueView& b) {
  Value result = operation == Operation::add ? bson::number::add(a, b) : bson::number::multiply(a, b);
  const bool overflow = a.is_integer() && b.is_integer() && result.type() == Type::number_double;
  return overflow ? Value() : result;
}

// Returns the zero of the argument's type, which is what $mul takes for a missing field.
Value zero_like(const ValueView& number) {
  switch (number.type()) {
    case Type::number_double: return Value(0.0);
    case Type::decimal128: return bson::number::multiply(number, Value(int32_t{0}));
    case Type::int64: return Value(int64_t{0});
    default: return Value(int32_t{0});
  }
}

class Arithmetic : public Modifier {
 public:
  Arithmetic(Operation operation, const ValueView& operand) : operation_(operation), operand_(operand) {}

  Change apply(const ValueView& current, const Application& application) const override {
    if (!current.exists()) return Change::set(operation_ == Operation::add ? operand_ : zero_like(operand_));
    if (!current.is_number()) {
      throw OperationError(ErrorCode::type_mismatch, std::string("Cannot apply ") + name() + " to a value of non-numeric type. " +
                                                         application.id_text() + " has the field '" +
                                                         std::string(application.field()) + "' of non-numeric type " +
                                                         std::string(bson::type_name(current.type())));
    }
    Value result = compute(operation_, current, operand_);
    if (!result.exists()) {
      throw OperationError(ErrorCode::bad_value, std::string("Failed to apply ") + name() + " operations to current value (" +
                                                     debug_text(current) + ") for document " + application.id_text());
    }
    return Change::set(std::move(result));
  }

 private:
  const char* name() const { return operation_ == Operation::add ? "$inc" : "$mul"; }
  static std::string debug_text(const ValueView& number) {
    return (number.type() == Type::int32 ? "(NumberInt)" : "(NumberLong)") + std::to_string(number.to_int64());
  }

  Operation operation_;
  Value operand_;
};

std::shared_ptr<const Modifier> make_arithmetic(Operation operation, const bson::Element& argument) {
  if (!argument.is_number()) {
    throw OperationError(ErrorCode::type_mismatch, std::string("Cannot ") +
                                                       (operation == Operation::add ? "increment" : "multiply") +
                                                       " with non-numeric argument: " + shell_braced(argument.name, argument));
  }
  return std::make_shared<Arithmetic>(operation, argument);
}

// One step of a $bit; several are applied in order.
struct BitStep {
  char operation;  // 'a', 'o', 'x'
  bool wide;
  int64_t bits;

  int64_t on(int64_t value) const {
    return operation == 'a' ? (value & bits) : operation == 'o' ? (value | bits) : (value ^ bits);
  }
};

class Bit : public Modifier {
 public:
  explicit Bit(std::vector<BitStep> steps) : steps_(std::move(steps)) {}

  Change apply(const ValueView& current, const Application& application) const override {
    if (current.exists() && !current.is_integer()) {
      throw OperationError(ErrorCode::bad_value, "Cannot apply $bit to a value of non-integral type." + application.id_text() +
                                                     " has the field " + std::string(application.field()) +
                                                     " of non-integer type " + std::string(bson::type_name(current.type())));
    }
    int64_t value = current.to_int64();
    bool wide = current.type() == Type::int64;
    for (const BitStep& step : steps_) {
      value = step.on(value);
      wide = wide || step.wide;
    }
    return Change::set(wide ? Value(value) : Value(static_cast<int32_t>(value)));
  }

 private:
  std::vector<BitStep> steps_;
};

BitStep parse_bit_step(const bson::Element& step) {
  if (step.name != "and" && step.name != "or" && step.name != "xor") {
    throw OperationError(ErrorCode::bad_value, "The $bit modifier only supports 'and', 'or', and 'xor', not '" +
                                                   std::string(step.name) +
                                                   "' which is an unknown operator: " + shell_braced(step.name, step));
  }
  if (!step.is_integer()) {
    throw OperationError(ErrorCode::bad_value, "The $bit modifier field must be an Integer(32/64 bit); a '" +
                                                   std::string(bson::type_name(step.type())) +
                                                   "' is not supported here: " + shell_braced(step.name, step));
  }
  return {step.name[0], step.type() == Type::int64, step.to_int64()};
}

}  // namespace

std::shared_ptr<const Modifier> make_inc(const bson::Element& argument, const PredicateCompiler&) {
  return make_arithmetic(Operation::add, argument);
}

std::shared_ptr<const Modifier> make_mul(const bson::Element& argument, const PredicateCompiler&) {
  return make_arithmetic(Operation::multiply, argument);
}

std::shared_ptr<const Modifier> make_bit(const bson::Element& argument, const PredicateCompiler&) {
  if (!argument.is_object()) {
    throw OperationError(ErrorCode::bad_value, "The $bit modifier is not compatible with a " +
                                                   std::string(bson::type_name(argument.type())) +
                                                   ". You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}");
  }
  std::vector<BitStep> steps;
  for (const auto& step : argument.as_document()) steps.push_back(parse_bit_step(step));
  if (steps.empty()) {
    throw OperationError(ErrorCode::bad_value,
                         "You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}");
  }
  return std::make_shared<Bit>(std::move(steps));
}

}  // namespace server::write
