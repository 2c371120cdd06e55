#include "bench/streams/listeners.h"

#include <algorithm>
#include <stdexcept>

#include "bson/builder.h"
#include "bson/json.h"

namespace bench::streams {
namespace {

constexpr int64_t await_ms = 500;
constexpr auto patience = std::chrono::seconds(60);

bson::Document opening(Listen listen) {
  bson::Builder out;
  out.append("aggregate", listen == Listen::elsewhere ? "quiet" : collection);
  {
    auto pipeline = out.array("pipeline");
    {
      auto stage = pipeline.object();
      stage.object("$changeStream");
    }
    if (listen == Listen::nothing) {
      auto stage = pipeline.object();
      stage.object("$match").append("operationType", "delete");
    }
  }
  out.object("cursor");
  return out.append("$db", database).done();
}

bson::Document asking(int64_t cursor, Listen listen) {
  bson::Builder out;
  out.append("getMore", cursor).append("collection", listen == Listen::elsewhere ? "quiet" : collection);
  return out.append("maxTimeMS", await_ms).append("$db", database).done();
}

}  // namespace

Listeners::Listeners(const std::string& address, size_t count, Listen listen, const Writes& writes, size_t first)
    : connections_(address, count), listen_(listen), writes_(writes), first_(first), streams_(count) {
  // All are open before the first write is made.
  connections_.converse([&](size_t stream, const bson::DocumentView* reply) -> std::optional<bson::Document> {
    if (!reply) return opening(listen_);
    demand_accepted(*reply);
    streams_[stream].cursor = (*reply)["cursor"].as_document()["id"].to_int64();
    return std::nullopt;
  });
  thread_ = std::thread([this] { run(); });
}

Listeners::~Listeners() {
  end_ = 0;
  if (thread_.joinable()) thread_.join();
}

void Listeners::run() {
  last_event_ = Writes::Clock::now().time_since_epoch().count();
  try {
    connections_.converse([this](size_t stream, const bson::DocumentView* reply) { return step(stream, reply); });
  } catch (...) {
    failure_ = std::current_exception();
  }
}

std::optional<bson::Document> Listeners::step(size_t number, const bson::DocumentView* reply) {
  Stream& stream = streams_[number];
  const auto now = Writes::Clock::now();
  if (reply) {
    demand_accepted(*reply);
    for (const bson::Element& each : (*reply)["cursor"].as_document()["nextBatch"].as_document()) {
      const auto write = static_cast<size_t>(each.as_document()["documentKey"].as_document()["_id"].to_int64());
      const size_t at = write - first_;
      if (write < first_ || (at < stream.seen.size() && stream.seen[at]))
        throw std::runtime_error("a stream has the event of write " + std::to_string(write) + " twice, or too early");
      if (at >= stream.seen.size()) stream.seen.resize(2 * at + 1);
      stream.seen[at] = true;
      ++stream.events;
      // The event may be here before the acknowledgement.
      const auto acknowledged = writes_.acknowledged(write);
      const auto delay = acknowledged == Writes::Clock::time_point() ? Writes::Clock::duration(0) : now - acknowledged;
      delays_us_.push_back(std::chrono::duration<float, std::micro>(delay).count());
      last_event_ = now.time_since_epoch().count();
    }
  }
  const size_t end = end_;
  const size_t wanted = listen_ == Listen::everything && end > first_ ? end - first_ : 0;
  if (end != SIZE_MAX && stream.events >= wanted) return std::nullopt;
  if (now.time_since_epoch().count() - last_event_ > Writes::Clock::duration(patience).count() && end != SIZE_MAX)
    throw std::runtime_error("a stream has " + std::to_string(stream.events) + " of " + std::to_string(wanted) + " events");
  return asking(stream.cursor, listen_);
}

void Listeners::finish(size_t end) {
  end_ = end;
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace bench::streams
