// Any text: refused, or a valid document whose canonical JSON reads back as an equal one.
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = bson::from_json({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  const bson::Document& document = parsed.value();
  base::check(bson::validate(document.bytes(), {.bytes_max = size_t{1} << 30, .depth_max = 2 * bson::nesting_max}).ok());
  const auto back = bson::from_json(bson::to_json(document.view(), bson::JsonMode::canonical));
  base::check(back.ok() && bson::compare(document.view(), back.value().view()) == 0);
  return 0;
}
