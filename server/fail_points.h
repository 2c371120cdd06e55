// Faults on purpose, for tests of drivers: set with configureFailPoint where the
// server was started with --setParameter enableTestCommands=1.
//
//   failCommand                   a command fails, hangs or loses its connection before it runs
//   onPrimaryTransactionalWrite   a retryable write is done, and the connection goes before the answer
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "bson/document.h"

namespace server {

// Thread-safe.
class FailPoints {
 public:
  std::atomic<bool> enabled{false};  // the parameter enableTestCommands

  // `mode`: "off", "alwaysOn", {times: n}, {skip: n}, {activationProbability: p}. Returns how often it was entered. Throws
  // FailPointSetFailed (169) for one that isn't known, BadValue for a bad mode.
  int64_t configure(const std::string& name, const bson::ValueView& mode, bson::DocumentView data);

  // The data of a fail point that strikes now and concerns `command` of that application; counts it.
  std::optional<bson::Document> strike(const std::string& name, std::string_view command, std::string_view application);
  int64_t entered(const std::string& name) const;

 private:
  struct Point {
    enum class Mode { off, on, times, skip, probability } mode = Mode::off;
    int64_t count = 0;
    double probability = 0;
    bson::Document data;
    int64_t entered = 0;
  };
  std::atomic<int> active_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Point> points_;
};

}  // namespace server
