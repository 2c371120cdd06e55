#include "server/core/redaction.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "server/core/command.h"

namespace server {
namespace {

// A field of a command that is a secret; `inside`: the field of that sub-document is.
struct Secret {
  std::string_view command;
  std::string_view field;
  std::string_view inside;
};

constexpr std::array secrets = {
    Secret{"addRemote", "uri", ""},
    Secret{"createUser", "pwd", ""},
    Secret{"updateUser", "pwd", ""},
    Secret{"saslStart", "payload", ""},
    Secret{"saslContinue", "payload", ""},
    Secret{"authenticate", "key", ""},
    Secret{"authenticate", "nonce", ""},
    Secret{"receivePack", "pack", ""},
    Secret{"hello", "speculativeAuthenticate", "payload"},
    Secret{"isMaster", "speculativeAuthenticate", "payload"},
    Secret{"ismaster", "speculativeAuthenticate", "payload"},
};

constexpr char hidden[] = "xxx";

const Secret* find(std::string_view command, std::string_view field) {
  const auto found = std::find_if(secrets.begin(), secrets.end(),
                                  [&](const Secret& one) { return one.command == command && one.field == field; });
  return found == secrets.end() ? nullptr : &*found;
}

void append_redacted(std::string& text, const bson::ValueView& value) {
  if (!value.is_object() && !value.is_array()) {
    text += base::json_quote(redacted);
    return;
  }
  const bool array = value.is_array();
  text += array ? '[' : '{';
  bool first = true;
  for (const auto& field : value.as_document()) {
    if (!std::exchange(first, false)) text += ',';
    if (!array) text += base::json_quote(field.name) + ":";
    append_redacted(text, field);
  }
  text += array ? ']' : '}';
}

}  // namespace

bool has_secrets(const Request& request) {
  for (const Secret& one : secrets) {
    if (request.command == one.command && request.body.find(one.field).exists()) return true;
  }
  return false;
}

bool is_secret(const Request& request, const bson::Element& field) {
  const Secret* const secret = find(request.command, field.name);
  return secret && (secret->inside.empty() || !field.is_object());
}

void append_without_secrets(bson::Builder& out, const Request& request, const bson::Element& field) {
  const Secret* const secret = find(request.command, field.name);
  if (!secret) {
    out.append_element(field);
  } else if (is_secret(request, field)) {
    out.append(field.name, hidden);
  } else {
    auto object = out.object(field.name);
    for (const auto& part : field.as_document()) {
      if (part.name == secret->inside)
        object.append(part.name, hidden);
      else
        object.append_element(part);
    }
  }
}

bson::Document without_secrets(const Request& request) {
  bson::Builder out;
  for (const auto& field : request.body) append_without_secrets(out, request, field);
  return out.done();
}

std::string redacted_json(bson::DocumentView document) {
  std::string text = "{";
  for (const auto& field : document) {
    if (text.size() > 1) text += ',';
    text += base::json_quote(field.name) + ":";
    append_redacted(text, field);
  }
  return text + "}";
}

}  // namespace server
