#include "server/write/write_errors.h"

#include <algorithm>
#include <utility>

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

ErrorRoom::Shown ErrorRoom::take(const base::OperationError& error) {
  Shown shown;
  shown.message = std::string_view(error.what()).substr(0, left_);
  left_ -= shown.message.size();
  bson::Builder details;
  append_error_details(error, details);
  shown.details = details.done();
  if (shown.details.size() > (std::exchange(first_, false) ? first_details_max : left_))
    shown.details = {};
  else
    left_ -= std::min(left_, shown.details.size());
  return shown;
}

void WriteErrors::add(size_t index, const base::OperationError& error) {
  const ErrorRoom::Shown shown = room_.take(error);
  bson::Builder out;
  out.append("index", static_cast<int32_t>(index)).append("code", static_cast<int32_t>(error.code()));
  out.append_all(shown.details).append("errmsg", shown.message);
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
