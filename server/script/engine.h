// An Engine runs the JavaScript functions that clients send ($where, $function, $accumulator, mapReduce), on QuickJS.
//
// It has the language and the names of server/script/prelude.js, and no way to files, sockets, the clock's alarms, or other
// operations: each expression has an engine of its own. Its memory is held in the operation's budget, and the operation is asked
// whether it is to stop while a function runs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "bson/value.h"

namespace server {
class Allowance;
}

namespace server::script {

// --noscripting turns it off for the whole process.
bool is_enabled();
void set_enabled(bool enabled);
// While `redacts` holds true, the log doesn't show what functions print. The reference must stay valid until the next call;
// nullptr: the log shows it.
void set_redaction(const std::atomic<bool>* redacts);
// Throws 31264 if scripting is turned off.
void check_enabled();

// Serves one thread at a time, but any threads one after another.
class Engine {
 public:
  // The allowance must outlive the engine; nullptr: the engine may take 64 MB, and nobody can stop it.
  explicit Engine(Allowance* allowance);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  using Function = size_t;
  // Takes a function, an expression, or a function's body. Throws JSInterpreterFailure (139) for what is no JavaScript.
  Function compile(std::string_view source);

  // Returns what the function returns; an undefined value for nothing. Throws JSInterpreterFailure for what the function throws,
  // ExceededMemoryLimit, and what ends the operation.
  bson::Value call(Function function, std::span<const bson::ValueView> arguments,
                   std::optional<bson::DocumentView> self = std::nullopt);

  // Returns whether what the function returns is true for JavaScript; the document is `this`, `obj` and the argument. Throws what
  // call() throws.
  bool holds(Function function, bson::DocumentView self);

  // Gives a value to a global name. A value of type code becomes a function.
  void define(std::string_view name, const bson::ValueView& value);

  // From now on functions may call emit(key, value).
  using Emit = std::function<void(const bson::ValueView& key, const bson::ValueView& value)>;
  void define_emit(Emit emit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A function with an engine of its own, which is made with the first call. Thread-safe: calls wait for each other.
class LazyFunction {
 public:
  // Called with the engine when it is made; it may define names.
  using Prepare = std::function<void(Engine&)>;
  // The arguments are as Engine's and compile's.
  LazyFunction(std::string source, Allowance* allowance, Prepare prepare = {})
      : source_(std::move(source)), allowance_(allowance), prepare_(std::move(prepare)) {}

  // Both throw what Engine's calls throw, and 31264 if scripting is turned off.
  bson::Value call(std::span<const bson::ValueView> arguments) const;
  bool holds(bson::DocumentView self) const;

 private:
  Engine& engine() const REQUIRES(mutex_);

  const std::string source_;
  Allowance* const allowance_;
  const Prepare prepare_;
  mutable base::Mutex mutex_;
  mutable std::unique_ptr<Engine> engine_ GUARDED_BY(mutex_);
};

// Returns the source in a string or a value of type code; nullopt for other types.
std::optional<std::string> source_of(const bson::ValueView& value);

}  // namespace server::script
