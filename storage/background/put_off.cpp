#include "storage/background/put_off.h"

#include "base/log.h"

namespace storage {
namespace {

constexpr int log_failed = 7200201;

void log(const char* doing, const std::string& error, int64_t times) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_failed, "Dedup work was put off",
            base::Attributes().add("doing", doing).add("error", error).add("times", times));
}

}  // namespace

void log_put_off(const char* doing, const std::exception& error) {
  log(doing, error.what(), 1);
}

void PutOff::add(const std::exception& error) {
  if (times_++ == 0) first_ = error.what();
}

void PutOff::report() const {
  if (times_ > 0) log(doing_, first_, times_);
}

}  // namespace storage
