// MongoDB Extended JSON v2, both ways.
#pragma once

#include <string>

#include "base/result.h"
#include "bson/document.h"
#include "bson/value.h"

namespace bson {

enum class JsonMode { relaxed, canonical };

std::string to_json(DocumentView document, JsonMode mode = JsonMode::relaxed);
std::string to_json(const ValueView& value, JsonMode mode = JsonMode::relaxed);

// Relaxed or canonical; also unquoted and single-quoted names, so that test
// cases read like the shell. Fails with FailedToParse and the offset.
base::Result<Document> from_json(std::string_view text);
base::Result<Value> value_from_json(std::string_view text);  // any value

// Convenience for literals in tests and tools: throws OperationError.
Document json(std::string_view text);

}  // namespace bson
