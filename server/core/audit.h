// The audit log says who did what: one event for each change of a schema, each login, each refusal.
//
//   {"atype": "dropCollection", "ts": {"$date": …}, "uuid": …, "local": {"ip": "127.0.0.1", "port": 27017},
//    "remote": {"ip": "10.0.0.7", "port": 51234}, "users": [], "roles": [], "param": {"ns": "shop.orders"}, "result": 0}
//
// Whoever decides or changes something records it:
//
//   if (Audit* audit = op.services().audit) audit->record("authenticate", &op.client(), param, base::ErrorCode::ok);
//
// Changes of the schema record themselves (LocalCommitter::watch_schema), and commands by their names (dispatch/audited.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/mutex.h"
#include "bson/document.h"
#include "server/core/security_options.h"

namespace base {
class Clock;
}

namespace server {

class Client;

// An AuditSink takes the events. Each call writes one whole event.
class AuditSink {
 public:
  virtual ~AuditSink() = default;
  virtual void write(bson::DocumentView event) = 0;  // throws OperationError
  virtual void rotate() {}                           // throws OperationError
};
// The clock dates files that rotate() puts aside; it outlives the sink. Throws OperationError if the file can't be opened.
std::unique_ptr<AuditSink> make_audit_sink(const AuditOptions& options, const base::Clock& clock);

// Thread-safe. An event is written before record() returns; a crash of the machine, but none of the process, may lose it.
class Audit {
 public:
  using Filter = std::function<bool(bson::DocumentView event)>;

  // Without a filter every event is written.
  Audit(std::unique_ptr<AuditSink> sink, Filter filter, base::Clock& clock);

  // `client`: nullptr if the server itself does it. An event that can't be written is logged as an error, and the caller goes on.
  void record(std::string_view atype, const Client* client, bson::DocumentView param,
              base::ErrorCode result = base::ErrorCode::ok);
  void rotate();  // throws OperationError

  // While the object lives, this thread works for the client: changes of the schema are recorded as its own.
  class Working {
   public:
    explicit Working(const Client& client);
    ~Working();
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;
  };
  // Returns the client that this thread works for, or nullptr.
  static const Client* working_for();

 private:
  const Filter filter_;
  base::Clock& clock_;
  base::Mutex mutex_;
  const std::unique_ptr<AuditSink> sink_ GUARDED_BY(mutex_);
};

}  // namespace server
