// A Statement is one statement of an update, a delete or a bulkWrite while it runs: it is counted for its own collection, and the
// profiler records it with its own counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/document.h"
#include "server/core/operation.h"

namespace server {

// It is used on the operation's thread. When it ends, the operation's counts include it.
class Statement {
 public:
  // `ns` and `shown`, which becomes the profiler's `command`, must live as long.
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
