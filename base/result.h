// A Result<T> is what code returns that reads bytes it did not just write, where damaged input is an expected
// answer.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace base {

struct Failure {
  ErrorCode code;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Failure failure) : failure_(std::move(failure)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& value() & { return check(ok(), "value of a failed result"), *value_; }
  const T& value() const& { return check(ok(), "value of a failed result"), *value_; }
  T&& value() && { return check(ok(), "value of a failed result"), std::move(*value_); }
  T& operator*() & { return value(); }
  T* operator->() { return &value(); }

  const Failure& failure() const { return failure_; }

  // Returns the value, or throws the failure as an exception.
  T or_throw() && {
    if (!ok()) throw OperationError(failure_.code, failure_.message);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Failure failure_{ErrorCode::ok, {}};
};

}  // namespace base
