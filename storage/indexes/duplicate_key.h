// DuplicateKey is the error of a write that a unique index forbids. Beside the message, it names the index's pattern and the
// values for the client. Under a collation the key has sort keys in place of strings, and shows them in hexadecimal digits.
#pragma once

#include "base/error.h"
#include "bson/document.h"

namespace storage {

class DuplicateKey : public base::OperationError {
 public:
  DuplicateKey(const std::string& message, bson::Document pattern, bson::Document value, bson::Document collation = {})
      : OperationError(base::ErrorCode::duplicate_key, message),
        pattern_(std::move(pattern)),
        value_(std::move(value)),
        collation_(std::move(collation)) {}

  const bson::Document& pattern() const { return pattern_; }      // {email: 1}
  const bson::Document& value() const { return value_; }          // {email: "a@b.c"}
  const bson::Document& collation() const { return collation_; }  // empty: none

 private:
  bson::Document pattern_;
  bson::Document value_;
  bson::Document collation_;
};

}  // namespace storage
