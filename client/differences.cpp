#include "client/differences.h"

#include <iostream>
#include <set>
#include <vector>

#include "bson/json.h"
#include "client/connection.h"
#include "client/table.h"

namespace client {

namespace {

std::string shown(const bson::Element& value) {
  return value.exists() ? bson::to_json(value) : "none";
}

// Appends "path: before -> after" for each field that differs; it goes into objects.
void append_changes(bson::DocumentView before, bson::DocumentView after, const std::string& path, std::vector<std::string>& out) {
  std::set<std::string_view> seen;
  const auto compare = [&](std::string_view name) {
    if (!seen.insert(name).second) return;
    const bson::Element a = before[name], b = after[name];
    if (a.identical(b)) return;
    const std::string here = path + printable(name);
    if (a.is_object() && b.is_object()) return append_changes(a.as_document(), b.as_document(), here + ".", out);
    out.push_back(here + ": " + shown(a) + " -> " + shown(b));
  };
  for (const bson::Element& field : before) compare(field.name);
  for (const bson::Element& field : after) compare(field.name);
}

}  // namespace

void DifferencePrinter::print(bson::DocumentView difference) {
  const std::string name = printable(text_of(difference["collection"])), change = text_of(difference["change"]);
  if (name != collection_) std::cout << (collection_ = name) << "\n";
  if (difference["tooLarge"].truthy()) {
    std::cout << (change == "insert"   ? "  + "
                  : change == "delete" ? "  - "
                                       : "  ~ ")
              << shown(difference["_id"]) << "  too large to show\n";
  } else if (change == "insert") {
    std::cout << "  + " << shown(difference["after"]) << "\n";
  } else if (change == "delete") {
    std::cout << "  - " << shown(difference["before"]) << "\n";
  } else {
    std::vector<std::string> changes;
    if (difference["before"].is_object() && difference["after"].is_object())
      append_changes(difference["before"].as_document(), difference["after"].as_document(), "", changes);
    std::cout << "  ~ " << shown(difference["_id"]);
    for (size_t i = 0; i < changes.size(); ++i) std::cout << (i == 0 ? "  " : ", ") << changes[i];
    std::cout << "\n";
  }
}

}  // namespace client
