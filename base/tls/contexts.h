// Contexts hold what the files of TLS say, and make streams with it.
//
// reload() reads the files anew; streams that exist keep what they began with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/tls/settings.h"
#include "base/tls/stream.h"

namespace base::tls {

// OperationError has one of these codes.
inline constexpr int32_t invalid_configuration = 140;  // InvalidSSLConfiguration
inline constexpr int32_t handshake_failed = 141;       // SSLHandshakeFailed

// A Certificate describes the one that this server shows to others.
struct Certificate {
  std::string subject;  // RFC 2253
  int64_t not_after_ms = 0;
};

// Thread-safe.
class Contexts {
 public:
  // Throws OperationError with invalid_configuration: a file that can't be read or doesn't fit, or a certificate whose time is
  // over or hasn't come.
  explicit Contexts(Settings settings);
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  // Throws as the constructor does; then everything stays as it was.
  void reload();

  const Settings& settings() const { return settings_; }
  Certificate own() const;

  // Throws OperationError if there is no memory for a session.
  std::unique_ptr<Stream> accept(int descriptor) const;
  // `host` is a name or an address, which the other side's certificate must be for.
  std::unique_ptr<Stream> connect(int descriptor, const std::string& host) const;

 private:
  struct Loaded;
  std::shared_ptr<const Loaded> loaded() const;

  const Settings settings_;
  mutable Mutex mutex_;
  std::shared_ptr<const Loaded> loaded_ GUARDED_BY(mutex_);
};

}  // namespace base::tls
