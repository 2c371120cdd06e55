// DuplicateKey is the error of a write that a unique index forbids. Beside the message, it names the index's pattern and the
// values for the client.
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
