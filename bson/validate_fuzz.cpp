// Any bytes are refused, or are safe to walk through. Values that compare as equal have one hash and one key string.
#include "base/fuzz_target.h"
#include "bson/compare.h"
#include "bson/hashed_key.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "bson/validate.h"
#include "bson/value.h"

namespace {

bool run(base::BytesView input) {
  const auto result = bson::validate(input);
  if (!result.ok()) return false;
  const bson::DocumentView document = result.value();
  const bson::Value value(document);
  const bson::Value back(bson::ValueView(bson::Type::object, document.bytes()));
  base::check(bson::compare(value, back) == 0 && bson::hash_value(value) == bson::hash_value(back));
  base::check(bson::KeyString().append(value).bytes() == bson::KeyString().append(back).bytes());
  bson::hashed_key(value);
  bson::to_json(document, bson::JsonMode::canonical);
  bson::to_shell(document);
  bson::value_at(document, "a.0.b");
  bson::visit_path(document, "a.0.b", [](const bson::ValueView& at, bool) { return bson::hash_value(at) != 0; });
  return true;
}

std::vector<base::Bytes> seeds() {
  return {bson::json("{}").bytes(),
          bson::json("{a: [{b: 1}, {b: 'two'}], d: NumberDecimal('1.5'), n: NumberLong(7), x: 1.5, t: Timestamp(1, 2), at: "
                     "ISODate('2024-01-01T00:00:00Z')}")
              .bytes(),
          bson::json("{r: /a/i, b: BinData(0, 'aGk='), m: MinKey, M: MaxKey, u: undefined, o: "
                     "ObjectId('65a0c0ffee65a0c0ffee65a0'), n: null, f: false}")
              .bytes()};
}

const base::FuzzTarget target("validate", run, seeds);

}  // namespace
