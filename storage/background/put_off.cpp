#include "storage/background/put_off.h"

#include "base/log.h"

namespace storage {

namespace {
constexpr int log_failed = 7200201;
}

void log_put_off(const char* doing, const std::exception& error) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_failed, "Dedup work was put off",
            base::Attributes().add("doing", doing).add("error", error.what()));
}

}  // namespace storage
