#include "storage/background/live_options.h"

#include <utility>

#include "base/error.h"
#include "storage/contents/contents.h"

namespace storage {

namespace {

dedup::Profile profile_named(const std::string& name) {
  if (name == "balanced") return dedup::Profile::balanced;
  if (name == "thesis") return dedup::Profile::thesis;
  if (name == "archive") return dedup::Profile::archive;
  throw base::OperationError(base::ErrorCode::bad_value, "unknown dedup profile '" + name + "'");
}

dedup::Options options_at_start(const DedupSettings& settings) {
  auto options = dedup::Options::of(profile_named(settings.profile));
  options.source_cache_bytes = settings.source_cache_bytes;
  options.writeback_cache_bytes = settings.write_back_bytes;
  options.index_bytes_max = settings.index_bytes_max;
  return options;
}

}  // namespace

LiveOptions::LiveOptions(Contents& contents, const DedupSettings& settings)
    : contents_(contents),
      server_profile_(settings.profile),
      enabled_(settings.enabled),
      options_(options_at_start(settings)),
      in_force_(options_at_start(settings)) {
  contents_.read_limits.set(in_force_);
  contents_.hop_bases.set_bytes_max(in_force_.hop_base_cache_bytes);
}

dedup::Options LiveOptions::get() const {
  const base::MutexLock lock(mutex_);
  return options_;
}

void LiveOptions::set(const dedup::Options& options) {
  dedup::validate(options).or_throw();
  const base::MutexLock lock(mutex_);
  options_ = options;
  contents_.read_limits.set(options);
  contents_.hop_bases.set_bytes_max(options.hop_base_cache_bytes);
  changed_ = true;
}

std::string LiveOptions::profile_of(const Collection& collection) const {
  const std::string& own = collection.options().dedup.profile;
  return own.empty() ? server_profile_ : own;
}

// Options that were set since the start hold for the server's profile. Those about memory, about the length of reads and about
// when a head is cold hold for all profiles; each profile itself decides what happens to a cold head.
dedup::Options LiveOptions::of(const std::string& profile, const dedup::Options& server) const {
  if (profile == server_profile_) return server;
  auto options = dedup::Options::of(profile_named(profile));
  options.source_cache_bytes = server.source_cache_bytes;
  options.metadata_cache_bytes = server.metadata_cache_bytes;
  options.writeback_cache_bytes = server.writeback_cache_bytes;
  options.index_bytes_max = server.index_bytes_max;
  options.read_bytes_max = server.read_bytes_max;
  options.read_hops_max = server.read_hops_max;
  options.demote_after_secs = server.demote_after_secs;
  return options;
}

bool LiveOptions::take() {
  const base::MutexLock lock(mutex_);
  if (!std::exchange(changed_, false)) return false;
  in_force_ = options_;
  ++changes_;
  return true;
}

}  // namespace storage
