// This file adds the sections of serverStatus and the parameters that belong to no
// other part.
#pragma once

namespace server {

class ServerParameters;
struct Options;
struct Services;

// Adds connections, network, opcounters, opLatencies, asserts, mem, extra_info, …
void add_status_sections(Services& services);

// Adds logLevel, quiet, logComponentVerbosity.
void add_log_parameters(ServerParameters& parameters);

// Adds featureCompatibilityVersion, authSchemaVersion and tlsMode, which tools look at; they can't be changed.
void add_compatibility_parameters(ServerParameters& parameters, const Options& options);

}  // namespace server
