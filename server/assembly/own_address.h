// Under which names this server is reached.
#pragma once

#include <string>

namespace server {

struct Options;

// Does "host:port" lead to this process? Asks the resolver; false where it has no answer.
bool leads_here(const std::string& host, const Options& options);
// "localhost:27017" where it listens on loopback addresses alone, else with the machine's name.
std::string own_host(const Options& options);

}  // namespace server
