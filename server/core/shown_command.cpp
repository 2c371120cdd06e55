#include "server/core/shown_command.h"

#include <algorithm>
#include <string>

#include "server/core/command.h"
#include "server/core/redaction.h"

namespace server {
namespace {

constexpr size_t command_bytes_max = 16 << 10;

template <class IsHidden, class Append>
void append_fields(bson::Builder& out, bson::DocumentView command, bool whole, IsHidden is_hidden, Append append) {
  size_t left = command_bytes_max;
  for (const auto& field : command) {
    constexpr size_t size_bytes = 64;  // what a field takes that is shown by its size, beside its name
    if (field.name.size() + size_bytes > left) {
      out.append("$truncated", "<" + std::to_string(command.size()) + " bytes>");
      return;
    }
    left -= field.name.size() + size_bytes;
    const size_t bytes = field.bytes().size();
    if (is_hidden(field) || bytes <= (whole ? left : std::min(left, shown_field_bytes_max))) {
      append(field);
      left -= std::min(left, bytes);
    } else {
      out.append(field.name, "<" + std::to_string(bytes) + " bytes>");
    }
  }
}

}  // namespace

void append_shown(bson::Builder& out, const Request& request, bool whole) {
  append_fields(
      out, request.body, whole, [&](const bson::Element& field) { return is_secret(request, field); },
      [&](const bson::Element& field) { append_without_secrets(out, request, field); });
}

void append_shown(bson::Builder& out, bson::DocumentView command, bool whole) {
  append_fields(
      out, command, whole, [](const bson::Element&) { return false; },
      [&](const bson::Element& field) { out.append_element(field); });
}

}  // namespace server
