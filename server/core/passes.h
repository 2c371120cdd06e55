// Passes are work that comes round: a pass, a pause, a pass, on a thread of its own.
//
// A pass changes documents as an operation of its own (Passes::Operation), which $currentOp shows and a client can kill. It is
// interrupted when the passes end.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "server/core/client.h"
#include "server/core/command.h"
#include "server/core/operation.h"

namespace server {

class Passes {
 public:
  class Operation;

  // The clock, which outlives the passes, measures the pauses. `name` is the thread's name in the log. `pause` is called now and
  // then during a pause: a shorter one counts at once. `pass` throws nothing.
  Passes(base::Clock& clock, std::string name, std::function<std::chrono::milliseconds()> pause, std::function<void()> pass);
  ~Passes();  // interrupts operations, and waits for the pass that runs
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  // Starts the thread, which begins with a pause.
  void start();
  // Returns whether a running pass should leave its remaining work. Any thread may call it.
  bool stopping() const;

 private:
  void run();

  base::Clock& clock_;
  const std::string name_;
  const std::function<std::chrono::milliseconds()> pause_;
  const std::function<void()> pass_;
  mutable base::Mutex mutex_;
  base::Condition woken_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<OperationContext*> operations_ GUARDED_BY(mutex_);  // the ones that run
  std::thread thread_;
};

// An operation runs on the thread of the passes, or on the thread of a caller who wants a pass at once.
class Passes::Operation {
 public:
  // currentOp shows `command`; its first field is the command's name.
  Operation(Passes& passes, Services& services, std::string db, bson::Document command);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  OperationContext& context() { return context_; }

 private:
  Passes& passes_;
  const bson::Document command_;
  const Request request_;
  Client client_;
  OperationContext context_;
};

}  // namespace server
