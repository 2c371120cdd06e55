// A DetailedError puts fields beside its message into the reply.
#pragma once

#include "base/error.h"
#include "bson/document.h"

namespace server::write {

class DetailedError : public base::OperationError {
 public:
  DetailedError(base::ErrorCode code, const std::string& message, bson::Document details)
      : OperationError(code, message), details_(std::move(details)) {}
  const bson::Document& details() const { return details_; }

 private:
  bson::Document details_;
};

}  // namespace server::write
