// Encryption of files, the audit log, and what the log leaves out.
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
      flag("security.enableEncryption", "enableEncryption", "encrypt the files of the storage engine",
           [](Options& o, bool on) { o.encryption.enabled = on; }),
      {"security.encryptionKeyFile", "encryptionKeyFile", Kind::text, "file with the master key: 32 bytes in base64",
       [](Options& o, const S& v) { o.encryption.key_file = v; }},
      {"security.encryptionCipherMode", "encryptionCipherMode", Kind::text, "cipher of encrypted files [AES256-GCM]",
       [](Options&, const S& v) {
         if (v == "AES256-CBC") bad("--encryptionCipherMode AES256-CBC is not supported: it can't see that bytes were changed");
         one_of(v, "encryptionCipherMode", {"AES256-GCM"});
       }},
      {"", "encryptionKeyFileNew", Kind::text, "wrap the data key with the master key of this file from now on, and end",
       [](Options& o, const S& v) {
         o.encryption.new_key_file = v;
         o.action = Options::Action::change_master_key;
       }},
      {"", "decryptFile", Kind::text, "write a sealed file of the data directory to standard output, decrypted, and end",
       [](Options& o, const S& v) {
         o.decrypt_file = v;
         o.action = Options::Action::decrypt;
       }},
      refused("security.kmip.serverName", "kmipServerName", "the master key comes from --encryptionKeyFile alone"),
      flag("security.redactClientLogData", "redactClientLogData", "redact client data written to the diagnostics log",
           [](Options& o, bool on) { o.redact_log = on; }),
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
  const storage::EncryptionOptions& encryption = options.encryption;
  if (encryption.enabled && encryption.key_file.empty()) bad("--enableEncryption needs --encryptionKeyFile");
  if (!encryption.enabled && !(encryption.key_file + encryption.new_key_file + options.decrypt_file).empty())
    bad("--encryptionKeyFile must be used with --enableEncryption");
  const AuditOptions& audit = options.audit;
  const bool file = audit.destination == AuditOptions::Destination::file;
  if (file && audit.path.empty()) bad("auditPath must be specified when auditDestination is to a file");
  if (!file && !audit.path.empty()) bad("auditPath may only be specified when auditDestination is to a file");
  if (!file && audit.format == AuditOptions::Format::bson) bad("auditFormat BSON is for an auditDestination to a file");
  if (audit.destination == AuditOptions::Destination::none && !audit.filter.empty()) bad("auditFilter needs auditDestination");
}

}  // namespace server::settings
