// MongoDB Extended JSON v2, both ways, and the shell's way of writing values.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bson/document.h"
#include "bson/value.h"

namespace bson {

enum class JsonMode { relaxed, canonical };

// On one line: {"a": 1, "b": ["x", {"$oid": "…"}]}
std::string to_json(DocumentView document, JsonMode mode = JsonMode::relaxed);
std::string to_json(const ValueView& value, JsonMode mode = JsonMode::relaxed);

// As error messages quote values: { a: 1, b: [ "x", ObjectId('…') ] }
std::string to_shell(DocumentView document);
std::string to_shell(const ValueView& value);

// Relaxed or canonical. So that test cases read like the shell, also: unquoted and single-quoted names,
// trailing commas, comments, /re/i, NaN, Infinity, undefined, and ObjectId("…"), ISODate("…"), Date(ms),
// NumberLong(…), NumberInt(…), NumberDecimal("…"), Timestamp(t, i), UUID("…"), BinData(n, "…"), MinKey,
// MaxKey, with `new` or without. {$regex, $options} is a query operator and stays an object.
// Fails with FailedToParse and the offset.
base::Result<Document> from_json(std::string_view text);
base::Result<Value> value_from_json(std::string_view text);  // any value

// Convenience for literals in tests and tools: throws OperationError.
Document json(std::string_view text);

// "2024-02-29T12:00:00.500Z"; outside of the years 0 to 9999 the milliseconds as a number.
std::string date_to_string(Date date);
// The same, with an offset (+01:00, +0100) or without one (UTC), without the time or parts of it. `has_offset`: told whether it
// says one.
std::optional<Date> date_from_string(std::string_view text, bool* has_offset = nullptr);
// "Z", "+01:00", "-0130", "+01" off the front: minutes east. false: there is none.
bool take_utc_offset(std::string_view& text, int& minutes);

std::string base64_encode(BytesView bytes);
std::optional<Bytes> base64_decode(std::string_view text);

}  // namespace bson
