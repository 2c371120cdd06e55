#include "server/exporter/exporter.h"

#include <stdexcept>

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "bson/builder.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/exporter/latency_families.h"
#include "server/exporter/member_families.h"
#include "server/exporter/status_families.h"
#include "server/exporter/version_families.h"
#include "versions/database/databases.h"

namespace server::exporter {
namespace {

constexpr int64_t versions_age_us = 60'000'000;  // versionStats counts commits one by one, so it isn't asked at each scrape

bson::Document command(std::string_view name) {
  bson::Builder out;
  out.append(name, 1);
  return out.done();
}

bool succeeded(bson::DocumentView reply) {
  return reply["ok"].truthy();
}

// A name with an IPv6 address has colons of its own.
std::string address_of(const Options& options) {
  const std::string& ip = options.metrics_bind_ip;
  return (ip.find(':') == std::string::npos ? ip : "[" + ip + "]") + ":" + std::to_string(options.metrics_port);
}

}  // namespace

class Exporter::Collected final : public prometheus::Collectable {
 public:
  Collected(Services& services, Run run) : services_(services), run_(std::move(run)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const base::LogContext context("metrics");
    Families families;
    families.add("palimpsest_build_info", prometheus::MetricType::Gauge,
                 "The versions of the server, and of MongoDB that it is like",
                 {{"version", std::string(palimpsest_version())}, {"compatible_version", std::string(compatible_version)}}, 1);
    // A figure that can't be had now must not take the others with it.
    try {
      families.add_status(run_("admin", command("serverStatus")));
      add_latencies(services_.metrics, families);
      if (services_.replica_set) {
        const bson::Document status = run_("admin", command("replSetGetStatus"));
        if (succeeded(status)) add_members(status, families);  // a set that isn't initiated has no status
      }
      add_versions_of_all(families);
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::control, 7100080, "Some metrics can't be read",
                base::Attributes().add("error", error.what()));
    }
    return families.take();
  }

 private:
  void add_versions_of_all(Families& families) const {
    const base::MutexLock lock(mutex_);
    const int64_t now = services_.clock.monotonic_us();
    if (versions_.empty() || now - read_us_ > versions_age_us) {
      versions_.clear();
      if (services_.databases) {
        for (const auto& database : services_.databases->all()) {
          bson::Document stats = run_(database->name(), command("versionStats"));
          if (succeeded(stats)) versions_.push_back(std::move(stats));
        }
      }
      read_us_ = now;
    }
    for (const bson::Document& stats : versions_) add_versions(stats, families);
  }

  Services& services_;
  const Run run_;
  mutable base::Mutex mutex_;
  mutable std::vector<bson::Document> versions_ GUARDED_BY(mutex_);  // replies of versionStats
  mutable int64_t read_us_ GUARDED_BY(mutex_) = 0;
};

struct Exporter::Served {
  std::shared_ptr<Collected> collected;
  prometheus::Exposer exposer;
};

Exporter::Exporter(Services& services, Run run) {
  const std::string address = address_of(services.options);
  // A client that is slow to ask or to read occupies one of the two threads, so it may not do so for long.
  const std::vector<std::string> settings = {"listening_ports",    address, "num_threads",       "2",
                                             "request_timeout_ms", "10000", "enable_keep_alive", "no"};
  try {
    served_ =
        std::unique_ptr<Served>(new Served{std::make_shared<Collected>(services, std::move(run)), prometheus::Exposer(settings)});
  } catch (const std::exception& error) {
    throw std::runtime_error("metrics can't be served at " + address + ": " + error.what());
  }
  served_->exposer.RegisterCollectable(served_->collected);
  base::log(base::Severity::info, base::LogComponent::network, 7100081, "Serving metrics",
            base::Attributes().add("address", address));
}

Exporter::~Exporter() = default;

}  // namespace server::exporter
