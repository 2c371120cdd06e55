#include "server/core/scale.h"

#include "base/error.h"
#include "bson/builder.h"

namespace server {

int64_t scale_of(const Arguments& arguments) {
  const auto scale = arguments.integer("scale");
  if (scale && *scale < 1) {
    throw base::OperationError(51024, "BSON field 'scale' value must be >= 1, actual value '" + std::to_string(*scale) + "'");
  }
  return scale.value_or(1);
}

void append_count(bson::Builder& out, std::string_view name, int64_t value) {
  if (value == static_cast<int32_t>(value))
    out.append(name, static_cast<int32_t>(value));
  else
    out.append(name, value);
}

}  // namespace server
