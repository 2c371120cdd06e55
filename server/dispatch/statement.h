// One statement of an update, a delete or a bulkWrite, while it runs: it counts for its own collection, and the profiler has an
// entry of it with what it counted alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/document.h"
#include "server/core/operation.h"

namespace server {

// Used on the operation's thread. The operation's counts are whole again when it ends.
class Statement {
 public:
  // `ns` and `shown`, which is the profiler's `command`, must live as long.
  Statement(OperationContext& op, std::string_view ns, bson::DocumentView shown);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  void failed(const base::OperationError& error);

 private:
  OperationContext& op_;
  const std::string_view ns_;
  const bson::DocumentView shown_;
  const OperationContext::Counts before_;
  const int64_t begun_us_;
  base::ErrorCode code_ = base::ErrorCode::ok;
  std::string message_;
};

}  // namespace server
