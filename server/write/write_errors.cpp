#include "server/write/write_errors.h"

#include "base/error.h"
#include "server/core/valid_text.h"
#include "server/write/detailed_error.h"
#include "storage/indexes/duplicate_key.h"

namespace server::write {

void append_error_details(const base::OperationError& error, bson::Builder& out) {
  const auto* duplicate = dynamic_cast<const storage::DuplicateKey*>(&error);
  if (const auto* detailed = dynamic_cast<const DetailedError*>(&error)) out.append_all(detailed->details());
  if (duplicate) out.append("keyPattern", duplicate->pattern()).append("keyValue", duplicate->value());
  if (duplicate && !duplicate->collation().empty()) out.append("collation", duplicate->collation());
}

namespace {

// Beyond this size, errors have no message any more, but each still has its index and code.
constexpr size_t messages_bytes_max = 1 << 20;

}  // namespace

void WriteErrors::add(size_t index, const base::OperationError& error) {
  bson::Builder out;
  out.append("index", static_cast<int32_t>(index)).append("code", static_cast<int32_t>(error.code()));
  append_error_details(error, out);
  const std::string_view message = errors_.size() < 2 || messages_bytes_ < messages_bytes_max ? error.what() : "";
  messages_bytes_ += message.size();
  out.append("errmsg", message);
  errors_.push_back(with_valid_text(out.done()));
}

void WriteErrors::add(size_t index, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const base::OperationError& operation_error) {
    add(index, operation_error);
  }
}

void WriteErrors::append(bson::Builder& reply) const {
  if (errors_.empty()) return;
  auto list = reply.array("writeErrors");
  for (const auto& error : errors_) list.append(error);
}

}  // namespace server::write
