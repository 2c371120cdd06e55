#include "bench/streams/writes.h"

#include <stdexcept>
#include <thread>

#include "bench/measure/clients.h"
#include "bson/builder.h"

namespace bench::streams {

size_t Writes::run(const std::string& address, size_t connections, double per_second, std::chrono::duration<double> time,
                   size_t bytes) {
  Clients clients(address, connections);
  const auto begun = Clock::now();
  const size_t first = count_, end = first + static_cast<size_t>(per_second * time.count());
  if (end > acknowledged_.size()) throw std::runtime_error("too many writes for the room that was made");
  const std::string pad(bytes, 'p');
  std::vector<size_t> sent(connections);
  clients.converse([&](size_t connection, const bson::DocumentView* reply) -> std::optional<bson::Document> {
    if (reply) {
      demand_accepted(*reply);
      acknowledged_[sent[connection]].store(Clock::now().time_since_epoch().count(), std::memory_order_release);
    }
    if (count_ == end) return std::nullopt;
    const std::chrono::duration<double> due(static_cast<double>(count_ - first) / per_second);
    std::this_thread::sleep_until(begun + std::chrono::duration_cast<Clock::duration>(due));
    sent[connection] = count_++;
    bson::Builder out;
    out.append("insert", collection);
    {
      auto documents = out.array("documents");
      auto document = documents.object();
      document.append("_id", static_cast<int64_t>(sent[connection])).append("pad", pad);
    }
    out.object("writeConcern").append("w", "majority");
    return out.append("$db", database).done();
  });
  return count_;
}

}  // namespace bench::streams
