// Any text is refused, or gives a valid document whose canonical JSON reads back as an equal one. The same text is read as base64
// and as a date, too.
#include "base/fuzz_target.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/validate.h"

namespace {

bool run(base::BytesView input) {
  const auto bytes = bson::base64_decode(input);
  if (bytes) base::check(bson::base64_decode(bson::base64_encode(*bytes)) == bytes);
  const auto date = bson::date_from_string(input);
  if (date) {
    const auto text = bson::date_to_string(*date);
    const auto back = bson::date_from_string(text);
    base::check(!back || back->ms == date->ms);
  }
  const auto parsed = bson::from_json(input);
  if (!parsed.ok()) return bytes || date;
  const bson::Document& document = parsed.value();
  base::check(bson::validate(document.bytes(), {.bytes_max = size_t{1} << 30, .depth_max = 2 * bson::nesting_max}).ok());
  const auto back = bson::from_json(bson::to_json(document.view(), bson::JsonMode::canonical));
  base::check(back.ok() && bson::compare(document.view(), back.value().view()) == 0);
  return true;
}

std::vector<base::Bytes> seeds() {
  const std::string shell =
      "{a: 1, 'b': [NaN, -Infinity, undefined, null, true], re: /x+/i, id: ObjectId('65a0c0ffee65a0c0ffee65a0'), /* ! */"
      " at: ISODate('2024-02-29T12:00:00.5+01:00'), n: NumberLong('9007199254740993'), d: NumberDecimal('1.5E-3'),"
      " t: Timestamp(1, 2), u: UUID('00112233-4455-6677-8899-aabbccddeeff'), bin: BinData(0, 'aGk='), k: MinKey,}";
  const auto document = bson::json(shell);
  return {shell, bson::to_json(document.view()), bson::to_json(document.view(), bson::JsonMode::canonical),
          "aGVsbG8=", "2024-02-29T12:00:00.500Z"};
}

const base::FuzzTarget target("json", run, seeds);

}  // namespace
