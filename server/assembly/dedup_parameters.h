// These parameters change dedup while it runs: setParameter, getParameter,
// --setParameter and `setParameter:` in the configuration file.
#pragma once

namespace storage {
class DedupService;
}

namespace server {

class ServerParameters;

// Adds dedupEnabled, dedupHopDistance, dedupFeatures …: docs/operations.md lists them. Bad values are refused with BadValue, in
// the words of dedup::validate. `dedup` must outlive the parameters.
void add_dedup_parameters(ServerParameters& parameters, storage::DedupService& dedup);

}  // namespace server
