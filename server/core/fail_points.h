// Fail points are faults on purpose, for tests of drivers. configureFailPoint sets them if the server was started with
// --setParameter enableTestCommands=1.
//
//   failCommand                         a command fails, hangs or loses its connection before it runs, or gets a write concern
//   error failGetMoreAfterCursorCheckout      a getMore fails after it took up its cursor, which is lost with it
//   maxTimeAlwaysTimeOut                an operation with a time limit is out of time at its next check
//   maxTimeNeverTimeOut                 an operation with a time limit is never out of time
//   onPrimaryTransactionalWrite         a retryable write is done, and the connection closes before the answer
//   outWaitAfterTempCollectionCreation  $out waits, with the collection or branch that it fills, as long as this is on
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "bson/document.h"

namespace server {

// Thread-safe.
class FailPoints {
 public:
  std::atomic<bool> enabled{false};  // the parameter enableTestCommands

  // `mode` is "off", "alwaysOn", {times: n}, {skip: n} or {activationProbability: p}. Returns how often the fail point was
  // entered. Throws FailPointSetFailed (266) for an unknown fail point, IllegalOperation without a mode, and BadValue or
  // TypeMismatch for an invalid one.
  int64_t configure(const std::string& name, const bson::ValueView& mode, bson::DocumentView data);

  // Counts the fail point and returns its data if it strikes now. If `concerns` returns false for the data, the fail point is
  // meant for another operation, and neither strikes nor counts. It costs an atomic load if no fail point is armed.
  using Concerns = std::function<bool(bson::DocumentView data)>;
  std::optional<bson::Document> strike(std::string_view name, const Concerns& concerns = {});
  // Returns whether it would strike, as far as that is known beforehand; counts nothing.
  bool armed(std::string_view name, const Concerns& concerns) const;
  // This is cheap enough for every check of a deadline.
  bool strikes(std::string_view name) { return any() && strike(name); }
  bool any() const { return active_.load(std::memory_order_relaxed) != 0; }
  int64_t entered(std::string_view name) const;

 private:
  struct Point {
    enum class Mode { off, on, times, skip, probability } mode = Mode::off;
    int64_t count = 0;
    double probability = 0;
    bson::Document data;
    int64_t entered = 0;
  };
  static Point parse(const bson::ValueView& mode);

  std::atomic<int> active_{0};
  mutable base::Mutex mutex_;
  std::map<std::string, Point, std::less<>> points_ GUARDED_BY(mutex_);
};

}  // namespace server
