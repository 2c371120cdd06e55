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

int64_t engine_statistic(wt::Connection& connection, int which) {
  const wt::Session session = connection.open_session();
  const wt::Cursor cursor = wt::open_cursor(session.get(), "statistics:", "statistics=(fast)");
  cursor->set_key(cursor.get(), which);
  const char* description = nullptr;
  const char* printed = nullptr;
  int64_t value = 0;
  wt::check(cursor->search(cursor.get()), "reading statistics");
  wt::check(cursor->get_value(cursor.get(), &description, &printed, &value), "reading statistics");
  return value;
}

// WiredTiger describes a figure as "cache: bytes currently in the cache". The part before the colon names the document that holds
// the group's figures.
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
    // The engine of MongoDB 7.0 had this figure here, and tools such as mongostat (its column flushes) look for it here.
    if (text == checkpoints) groups["transaction"].emplace_back("transaction checkpoints", value);
  }
  out.append("uri", "statistics:");
  for (const auto& [name, figures] : groups) {
    bson::Builder group = out.object(name);
    for (const auto& [figure, value] : figures) group.append(figure, value);
  }
}

}  // namespace storage
