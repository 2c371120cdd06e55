#include "client/conflicts.h"

#include <iostream>

#include "bson/json.h"
#include "client/connection.h"
#include "client/table.h"

namespace client {

void print_conflicts(bson::DocumentView reply) {
  if (!reply["conflicts"].is_array()) return;
  Table table({{"collection"}, {"_id"}, {"conflict"}});
  for (const bson::Element& one : reply["conflicts"].as_document()) {
    if (!one.is_object()) continue;
    const bson::DocumentView conflict = one.as_document();
    std::string what = conflict.has("index") ? "index " + text_of(conflict["index"]) : std::string();
    if (conflict["paths"].is_array())
      for (const bson::Element& path : conflict["paths"].as_document()) what += (what.empty() ? "" : ", ") + text_of(path);
    table.add({printable(text_of(conflict["collection"])), bson::to_json(conflict["_id"]), printable(what)});
  }
  table.print(std::cout, 2);
}

}  // namespace client
