#include "datasets/replay/server_watch.h"

#include <algorithm>
#include <chrono>

#include "bson/builder.h"
#include "bson/path.h"
#include "datasets/replay/client.h"

namespace datasets::replay {
namespace {

constexpr size_t samples_max = 1000;
constexpr double step_seconds_least = 0.02, step_seconds_most = 0.5;

// The first second gives some fifty samples, the first minute some two hundred.
double step_after(double seconds) {
  return std::clamp(seconds / 50, step_seconds_least, step_seconds_most);
}

}  // namespace

ServerWatch::ServerWatch(const std::string& uri, Measured& measured) : measured_(measured), thread_([this, uri] { work(uri); }) {
  base::MutexLock lock(mutex_);
  begun_.wait(lock, [&]() REQUIRES(mutex_) { return may_begin_; });
}

ServerWatch::~ServerWatch() {
  stop();
}

std::vector<Sample> ServerWatch::stop() {
  {
    const base::MutexLock lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
  return std::move(samples_);
}

void ServerWatch::let_begin() {
  {
    const base::MutexLock lock(mutex_);
    may_begin_ = true;
  }
  begun_.notify_all();
}

Sample ServerWatch::sample(Client& client, double seconds) const {
  bson::Builder builder;
  builder.append("serverStatus", 1);
  Sample sample;
  // A server without serverStatus still has a rate to plot.
  if (const auto status = client.try_command("admin", builder.done())) {
    sample.resident_bytes = bson::value_at(*status, "mem.resident").to_int64() * 1024 * 1024;
    sample.stored_bytes = bson::value_at(*status, "dedup.storedBytes").to_int64();
    sample.queued = bson::value_at(*status, "dedup.queue.records").to_int64();
  }
  sample.seconds = seconds;
  sample.documents = measured_.documents.get();
  sample.logical_bytes = measured_.logical_bytes.get();
  sample.inserts = static_cast<int64_t>(measured_.insert_us.count());
  sample.insert_us = static_cast<int64_t>(measured_.insert_us.sum());
  sample.slowest_us = static_cast<int64_t>(measured_.slowest_insert_us.take());
  return sample;
}

void ServerWatch::work(const std::string& uri) {
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
  double thinned = 1;  // times the step, since samples were left out
  try {
    Client client(uri);
    // The last sample is taken after the end was announced: the shortest load has two.
    for (bool last = false; !last;) {
      {
        const base::MutexLock lock(mutex_);
        last = stop_;
      }
      const double now = samples_.empty() ? 0 : seconds();
      samples_.push_back(sample(client, now));
      if (samples_.size() == 1) let_begin();
      if (samples_.size() == samples_max) {
        for (size_t i = 0; i < samples_max / 2; ++i) {
          const int64_t left_out = i == 0 ? 0 : samples_[2 * i - 1].slowest_us;
          samples_[i] = samples_[2 * i];
          samples_[i].slowest_us = std::max(samples_[i].slowest_us, left_out);
        }
        samples_.resize(samples_max / 2);
        thinned *= 2;
      }
      base::MutexLock lock(mutex_);
      if (!last)
        stopping_.wait_for(lock, std::chrono::duration<double>(thinned * step_after(now)),
                           [&]() REQUIRES(mutex_) { return stop_; });
    }
  } catch (const ClientError&) {
    // The load will meet the same error and report it.
  }
  let_begin();
}

}  // namespace datasets::replay
