// What went wrong with single statements of a write command: its `writeErrors`.
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
  // The statement of the first error; there is one.
  size_t first_index() const { return static_cast<size_t>(errors_.front().find("index").as_int32()); }
  size_t count() const { return errors_.size(); }
  // {index, code, …, errmsg}, as they were added.
  const std::vector<bson::Document>& documents() const { return errors_; }
  // Appends `writeErrors` when there are any.
  void append(bson::Builder& reply) const;

 private:
  std::vector<bson::Document> errors_;
  size_t messages_bytes_ = 0;
};

// keyPattern and keyValue, when `error` is about a duplicate key.
void append_error_details(const base::OperationError& error, bson::Builder& out);

}  // namespace server::write
