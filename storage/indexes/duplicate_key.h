// The error of a write that a unique index forbids, with what a client wants to
// know beside the message: which index, which values.
#pragma once

#include "base/error.h"
#include "bson/document.h"

namespace storage {

class DuplicateKey : public base::OperationError {
 public:
  DuplicateKey(const std::string& message, bson::Document pattern, bson::Document value)
      : OperationError(base::ErrorCode::duplicate_key, message), pattern_(std::move(pattern)), value_(std::move(value)) {}

  const bson::Document& pattern() const { return pattern_; }  // {email: 1}
  const bson::Document& value() const { return value_; }      // {email: "a@b.c"}

 private:
  bson::Document pattern_;
  bson::Document value_;
};

}  // namespace storage
