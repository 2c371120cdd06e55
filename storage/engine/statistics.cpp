#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bson/builder.h"
#include "storage/engine/internals.h"

namespace storage {

namespace {
constexpr std::string_view checkpoints = "checkpoint: total succeed number of checkpoints";
}

// WiredTiger describes a figure as "cache: bytes currently in the cache": the part before the colon
// becomes the group's document.
void append_engine_statistics(wt::Connection& connection, bson::Builder& out) {
  const wt::Session session = connection.open_session();
  const wt::Cursor cursor = wt::open_cursor(session.get(), "statistics:", "statistics=(fast)");
  std::map<std::string, std::vector<std::pair<std::string, int64_t>>> groups;
  while (cursor->next(cursor.get()) == 0) {
    const char* description = nullptr;
    const char* printed = nullptr;
    int64_t value = 0;
    wt::check(cursor->get_value(cursor.get(), &description, &printed, &value), "reading statistics");
    const std::string_view text = description;
    const size_t colon = text.find(": ");
    if (colon == text.npos) continue;
    groups[std::string(text.substr(0, colon))].emplace_back(text.substr(colon + 2), value);
    // In the engine of MongoDB 7.0 it stood there, and tools look for it there: mongostat's flushes.
    if (text == checkpoints) groups["transaction"].emplace_back("transaction checkpoints", value);
  }
  out.append("uri", "statistics:");
  for (const auto& [name, figures] : groups) {
    bson::Builder group = out.object(name);
    for (const auto& [figure, value] : figures) group.append(figure, value);
  }
}

}  // namespace storage
