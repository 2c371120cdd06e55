// Values are written and read as MongoDB Extended JSON v2, and as the shell writes them.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bson/document.h"
#include "bson/value.h"

namespace bson {

enum class JsonMode { relaxed, canonical };

// Writes on one line: {"a": 1, "b": ["x", {"$oid": "…"}]}
std::string to_json(DocumentView document, JsonMode mode = JsonMode::relaxed);
std::string to_json(const ValueView& value, JsonMode mode = JsonMode::relaxed);

// Writes as error messages quote values: { a: 1, b: [ "x", ObjectId('…') ] }
std::string to_shell(DocumentView document);
std::string to_shell(const ValueView& value);

// Reads relaxed and canonical JSON and, so that test cases look like the shell, also these: unquoted and single-quoted
// names, trailing commas, comments, /re/i, NaN, Infinity, undefined, and ObjectId("…"), ISODate("…"), Date(ms),
// NumberLong(…), NumberInt(…), NumberDecimal("…"), Timestamp(t, i), UUID("…"), BinData(n, "…"), MinKey, MaxKey, with
// `new` or without. {$regex, $options} is a query operator and stays an object. Fails with FailedToParse and the
// offset.
base::Result<Document> from_json(std::string_view text);
base::Result<Value> value_from_json(std::string_view text);  // any value

// Serves literals in tests and tools: it throws OperationError.
Document json(std::string_view text);

// Writes "2024-02-29T12:00:00.500Z", and outside of the years 0 to 9999 the milliseconds as a number.
std::string date_to_string(Date date);
// Reads the same, with an offset (+01:00, +0100) or without one (UTC), and without the time or parts of it. `has_offset` receives
// whether there is an offset.
std::optional<Date> date_from_string(std::string_view text, bool* has_offset = nullptr);
// Takes "Z", "+01:00", "-0130" or "+01" off the front and sets the minutes east of UTC. Returns false when there is none.
bool take_utc_offset(std::string_view& text, int& minutes);

std::string base64_encode(BytesView bytes);
std::optional<Bytes> base64_decode(std::string_view text);

}  // namespace bson
