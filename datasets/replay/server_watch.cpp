#include "datasets/replay/server_watch.h"

#include <chrono>

#include "bson/builder.h"
#include "bson/path.h"
#include "datasets/replay/client.h"

namespace datasets::replay {
namespace {
constexpr size_t samples_max = 1000;
}

ServerWatch::ServerWatch(const std::string& uri, const Measured& measured, double step_seconds)
    : measured_(measured), step_seconds_(step_seconds), thread_([this, uri] { work(uri); }) {}

ServerWatch::~ServerWatch() {
  stop();
}

std::vector<Sample> ServerWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  if (thread_.joinable()) thread_.join();
  return std::move(samples_);
}

void ServerWatch::work(std::string uri) {
  const auto begun = std::chrono::steady_clock::now();
  bson::Builder builder;
  builder.append("serverStatus", 1);
  const bson::Document status_command = builder.done();
  try {
    Client client(uri);
    for (std::unique_lock lock(mutex_); !stop_;) {
      lock.unlock();
      Sample sample;
      // A server without serverStatus still has a rate to plot.
      if (const auto status = client.try_command("admin", status_command)) {
        sample.resident_bytes = bson::value_at(*status, "mem.resident").to_int64() * 1024 * 1024;
        sample.stored_bytes = bson::value_at(*status, "dedup.storedBytes").to_int64();
        sample.queued = bson::value_at(*status, "dedup.queue.records").to_int64();
      }
      sample.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      sample.documents = measured_.documents.get();
      sample.logical_bytes = measured_.logical_bytes.get();
      lock.lock();
      samples_.push_back(sample);
      if (samples_.size() == samples_max) {
        for (size_t i = 0; i < samples_max / 2; ++i) samples_[i] = samples_[2 * i];
        samples_.resize(samples_max / 2);
        step_seconds_ *= 2;
      }
      stopping_.wait_for(lock, std::chrono::duration<double>(step_seconds_), [&] { return stop_; });
    }
  } catch (const ClientError&) {
    // The load will meet the same error and say so.
  }
}

}  // namespace datasets::replay
