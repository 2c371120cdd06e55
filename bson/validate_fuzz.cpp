// Any bytes: refused, or safe to walk.
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "bson/validate.h"
#include "bson/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = bson::validate({reinterpret_cast<const char*>(data), size});
  if (!result.ok()) return 0;
  const bson::DocumentView document = result.value();
  const bson::Value value(document);
  const bson::Value back(bson::ValueView(bson::Type::object, document.bytes()));
  base::check(bson::compare(value, back) == 0 && bson::hash_value(value) == bson::hash_value(back));
  base::check(bson::KeyString().append(value).bytes() == bson::KeyString().append(back).bytes());
  bson::to_json(document, bson::JsonMode::canonical);
  bson::to_shell(document);
  bson::value_at(document, "a.0.b");
  bson::visit_path(document, "a.0.b", [](const bson::ValueView& at, bool) { return bson::hash_value(at) != 0; });
  return 0;
}
