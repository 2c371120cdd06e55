#include "bson/collator.h"

#include <unicode/ucol.h>
#include <unicode/uiter.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

namespace bson {
namespace {

int32_t length_of(std::string_view text) {
  base::check(text.size() <= INT32_MAX, "a document's strings are shorter than 2 GB");
  return static_cast<int32_t>(text.size());
}

using Map = std::function<Bytes(std::string_view)>;

void append_mapped(Builder& out, std::string_view name, const ValueView& value, const Map& map);

void append_fields(Builder& out, DocumentView fields, const Map& map) {
  for (const Element& field : fields) append_mapped(out, field.name, field, map);
}

void append_mapped(Builder& out, std::string_view name, const ValueView& value, const Map& map) {
  switch (value.type()) {
    case Type::string:
    case Type::symbol: out.append(name, map(value.as_string())); return;
    case Type::object: {
      Builder inner = out.object(name);
      return append_fields(inner, value.as_document(), map);
    }
    case Type::array: {
      Builder elements;
      append_fields(elements, value.as_document(), map);
      out.append(name, Value::array(elements.done()));
      return;
    }
    default: out.append(name, value);
  }
}

}  // namespace

Collator::Collator(UCollator* collator, Document specification) : collator_(collator), specification_(std::move(specification)) {}

Collator::~Collator() {
  ucol_close(collator_);
}

int Collator::compare(std::string_view a, std::string_view b) const {
  if (a == b) return 0;
  UErrorCode status = U_ZERO_ERROR;
  const UCollationResult result = ucol_strcollUTF8(collator_, a.data(), length_of(a), b.data(), length_of(b), &status);
  if (U_FAILURE(status)) throw base::OperationError(base::ErrorCode::internal_error, "ICU can't compare two strings");
  return static_cast<int>(result);
}

void Collator::append_key(Bytes& out, std::string_view text) const {
  // Few strings that are compared are longer than this, so most need no allocation.
  constexpr int32_t few = 256;
  std::array<UChar, few> near;
  std::u16string far;
  UChar* wide = near.data();
  const int32_t bytes = length_of(text);
  if (bytes > few) {
    far.resize(text.size());
    wide = far.data();
  }
  UErrorCode status = U_ZERO_ERROR;
  int32_t units = 0;
  // Bytes that aren't UTF-8 become U+FFFD, as in compare(). A text has no more UTF-16 units than bytes.
  u_strFromUTF8WithSub(wide, std::max(bytes, few), &units, text.data(), bytes, 0xfffd, nullptr, &status);
  if (U_FAILURE(status)) throw base::OperationError(base::ErrorCode::internal_error, "ICU can't read a string");
  const size_t start = out.size();
  size_t room = 4 * static_cast<size_t>(units) + 16;
  for (;;) {
    out.resize(start + room);
    const int32_t size = ucol_getSortKey(collator_, wide, units, reinterpret_cast<uint8_t*>(out.data() + start),
                                         static_cast<int32_t>(std::min<size_t>(room, INT32_MAX)));
    if (size <= 0) throw base::OperationError(base::ErrorCode::internal_error, "ICU can't make a sort key");
    const auto needed = static_cast<size_t>(size);
    if (needed <= room) return out.resize(start + needed - 1);  // without the NUL at its end
    room = needed;
  }
}

Value map_strings(const ValueView& value, const std::function<Bytes(std::string_view)>& map) {
  if (!is_collatable(value.type())) return Value(value);
  Builder holder;
  append_mapped(holder, "", value, map);
  return Value(holder.done().view().first());
}

Value collated(const ValueView& value, const Collator& collator) {
  return map_strings(value, [&](std::string_view text) {
    Bytes key;
    collator.append_key(key, text);
    return key;
  });
}

}  // namespace bson
