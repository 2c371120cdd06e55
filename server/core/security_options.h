// AuditOptions hold the options of the audit log.
#pragma once

#include <string>

namespace server {

struct AuditOptions {
  enum class Destination { none, file, syslog, console };
  enum class Format { json, bson };
  Destination destination = Destination::none;
  Format format = Format::json;
  std::string path;
  std::string filter;  // JSON; empty: everything
};

}  // namespace server
