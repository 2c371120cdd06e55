// WriteErrors collects the errors of a write command's statements: its
// `writeErrors`.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "bson/builder.h"

namespace base {
class OperationError;
}

namespace server::write {

// The room for what a reply says about errors: beyond 1 MB, errors have neither message nor details any more, but each still has
// its index and code. Only the first may have details of up to 8 MB. So the reply always fits, whatever was written before.
class ErrorRoom {
 public:
  struct Shown {
    std::string message;
    bson::Document details;
  };
  Shown take(const base::OperationError& error);

 private:
  static constexpr size_t bytes_max = 1 << 20, first_details_max = 8 << 20;
  size_t left_ = bytes_max;
  bool first_ = true;
};

class WriteErrors {
 public:
  void add(size_t index, const base::OperationError& error);
  void add(size_t index, std::exception_ptr error);

  bool empty() const { return errors_.empty(); }
  // Returns the statement of the first error; there must be one.
  size_t first_index() const { return static_cast<size_t>(errors_.front().find("index").as_int32()); }
  size_t count() const { return errors_.size(); }
  // Returns {index, code, …, errmsg} of each, in the order in which they were added.
  const std::vector<bson::Document>& documents() const { return errors_; }
  // Appends `writeErrors` if there are any.
  void append(bson::Builder& reply) const;

 private:
  std::vector<bson::Document> errors_;
  ErrorRoom room_;
};

// Appends what an error has beside its message: a validator's errInfo, or keyPattern and keyValue of a duplicate key.
void append_error_details(const base::OperationError& error, bson::Builder& out);

}  // namespace server::write
