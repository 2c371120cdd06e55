// These functions find the names by which this server is reached.
#pragma once

#include <string>

namespace server {

struct Options;

// Returns whether "host:port" leads to this process. Asks the resolver; returns false if that has no answer.
bool leads_here(const std::string& host, const Options& options);
// Returns "localhost:27017" if the server listens on loopback addresses alone, else the machine's name and the port.
std::string own_host(const Options& options);

}  // namespace server
