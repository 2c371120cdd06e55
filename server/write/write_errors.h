// WriteErrors collects the errors of a write command's statements: its
// `writeErrors`.
#pragma once

#include <exception>
#include <vector>

#include "bson/builder.h"

namespace base {
class OperationError;
}

namespace server::write {

// Messages beyond 1 MB are left out, so that the reply fits.
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
  size_t messages_bytes_ = 0;
};

// Appends keyPattern and keyValue if `error` is about a duplicate key.
void append_error_details(const base::OperationError& error, bson::Builder& out);

}  // namespace server::write
