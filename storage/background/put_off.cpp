#include "storage/background/put_off.h"

#include "base/log.h"

namespace storage {
namespace {

constexpr int log_failed = 7200201;

}  // namespace

void log_put_off(const char* doing, const std::string& error, int64_t times) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_failed, "Dedup work was put off",
            base::Attributes().add("doing", doing).add("error", error).add("times", times));
}

void PutOff::add(const std::exception& error) {
  if (times_++ == 0) first_ = error.what();
}

void PutOff::report() const {
  if (times_ > 0) log_put_off(doing_, first_, times_);
}

}  // namespace storage
