#include "client/watched.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>

#include "base/random.h"
#include "client/progress_bar.h"

namespace client {
namespace {

struct Step {
  uint64_t done = 0, total = 0;
};

// The operation is found by its comment. A user who may not see operations sees no progress.
std::optional<Step> step_of(Connection& server, const std::string& comment) {
  bson::Builder ask;
  ask.append("currentOp", 1).append("command.comment", comment);
  try {
    const bson::Document reply = server.run("admin", ask.done());
    for (const bson::Element& one : reply.view()["inprog"].as_document()) {
      if (!one.is_object() || !one.as_document()["progress"].is_object()) continue;
      const bson::DocumentView progress = one.as_document()["progress"].as_document();
      return Step{static_cast<uint64_t>(progress["done"].to_int64()), static_cast<uint64_t>(progress["total"].to_int64())};
    }
  } catch (const datasets::replay::ClientError&) {
  }
  return std::nullopt;
}

}  // namespace

bson::Document run_watched(const Target& target, Connection& server, const std::string& db, const bson::Document& command,
                           const std::string& what) {
  if (::isatty(STDERR_FILENO) != 1) return server.run(db, command);
  const std::string comment = "palimpsest " + std::to_string(base::entropy64());
  bson::Builder commented;
  commented.append_all(command);
  commented.append("comment", comment);
  auto reply = std::async(std::launch::async, [&, named = commented.done()] { return server.run(db, named); });
  ProgressBar bar(what, false);
  std::optional<Connection> watcher;
  while (reply.wait_for(std::chrono::milliseconds(500)) != std::future_status::ready) {
    if (!watcher) watcher.emplace(target);
    if (const auto step = step_of(*watcher, comment)) bar.show(step->done, step->total);
  }
  return reply.get();
}

}  // namespace client
