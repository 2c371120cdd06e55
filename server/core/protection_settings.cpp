// The audit log.
#include "server/core/setting.h"

namespace server::settings {
namespace {

using S = std::string;

AuditOptions::Destination destination_of(const S& text) {
  if (text == "file") return AuditOptions::Destination::file;
  if (text == "syslog") return AuditOptions::Destination::syslog;
  if (text == "console") return AuditOptions::Destination::console;
  bad("invalid value for auditDestination: " + text);
}

}  // namespace

std::vector<Setting> protection() {
  return {
      {"auditLog.destination", "auditDestination", Kind::text, "where the audit log goes [file|syslog|console]",
       [](Options& o, const S& v) { o.audit.destination = destination_of(v); }},
      {"auditLog.format", "auditFormat", Kind::text, "format of the audit log, if logging to a file [JSON|BSON]",
       [](Options& o, const S& v) {
         const bool bson = one_of(v, "auditFormat", {"JSON", "BSON"}) == "BSON";
         o.audit.format = bson ? AuditOptions::Format::bson : AuditOptions::Format::json;
       }},
      {"auditLog.path", "auditPath", Kind::text, "full filespec for audit log file",
       [](Options& o, const S& v) { o.audit.path = v; }},
      {"auditLog.filter", "auditFilter", Kind::text, "filter spec to screen audit records",
       [](Options& o, const S& v) { o.audit.filter = v; }},
      refused("auditLog.runtimeConfiguration", "auditRuntimeConfiguration", "the filter can't change while the server runs"),
  };
}

void check_protection(const Options& options) {
  const AuditOptions& audit = options.audit;
  const bool file = audit.destination == AuditOptions::Destination::file;
  if (file && audit.path.empty()) bad("auditPath must be specified when auditDestination is to a file");
  if (!file && !audit.path.empty()) bad("auditPath may only be specified when auditDestination is to a file");
  if (!file && audit.format == AuditOptions::Format::bson) bad("auditFormat BSON is for an auditDestination to a file");
  if (audit.destination == AuditOptions::Destination::none && !audit.filter.empty()) bad("auditFilter needs auditDestination");
}

}  // namespace server::settings
