// Work that comes round: a pass, a pause, a pass, on a thread of its own.
//
// What a pass does to documents it does as an operation of its own (Passes::Operation), which shows in $currentOp, can be killed
// there, and is interrupted when the passes are to end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/core/client.h"
#include "server/core/command.h"
#include "server/core/operation.h"

namespace server {

class Passes {
 public:
  class Operation;

  // `name` is the thread's in the log. `pause` is asked now and then while it lasts: a shorter one counts at once. `pass` throws
  // nothing.
  Passes(std::string name, std::function<std::chrono::milliseconds()> pause, std::function<void()> pass);
  ~Passes();  // interrupts operations, and waits for the pass that runs
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  // From here on the thread runs, with a pause first.
  void start();
  // Whether a pass that runs should leave the rest to nobody. From any thread.
  bool stopping() const;

 private:
  void run();

  const std::string name_;
  const std::function<std::chrono::milliseconds()> pause_;
  const std::function<void()> pass_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  std::vector<OperationContext*> operations_;  // those that run
  std::thread thread_;
};

// On the thread of the passes or, where somebody wants a pass at once, on theirs.
class Passes::Operation {
 public:
  // `command` is what it is shown as: its first field is the command's name.
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
