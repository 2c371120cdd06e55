#include "server/script/engine.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/hex.h"
#include "base/log.h"
#include "bson/json.h"
#include "bson/md5.h"
#include "bson/numeric.h"
#include "server/core/allowance.h"
#include "server/core/options.h"
#include "server/core/redaction.h"
#include "server/script/owned.h"
#include "server/script/prelude.h"
#include "server/script/values.h"

namespace server::script {

namespace {

using base::OperationError;
using bson::ValueView;

constexpr int32_t interpreter_failure = 139;
constexpr size_t unlimited_engine_bytes = 64 << 20;
constexpr size_t step_bytes = 1 << 18;
constexpr size_t stack_bytes = 512 << 10;  // of the thread that calls
constexpr size_t work_between_looks = 2000;
// QuickJS may crash when it doesn't get a few bytes, so small allocations succeed beyond the limit, and the next poll ends the
// function. Large ones, which texts, arrays, numbers and objects of many properties make, may fail: scripts/quickjs.patch
// mends the places that were found not to stand it.
constexpr size_t small_bytes_max = 1 << 20, beyond_limit_bytes_max = 16 << 20;
constexpr size_t printed_bytes_max = 1024, stack_text_bytes_max = 2000;
constexpr auto sleep_step = std::chrono::milliseconds(10);

// Costs a few nanoseconds, and moves on every few milliseconds.
int64_t rough_now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::atomic<bool> enabled{true};
std::atomic<const std::atomic<bool>*> redaction{nullptr};

}  // namespace

bool is_enabled() {
  return enabled.load(std::memory_order_relaxed);
}

void set_enabled(bool value) {
  enabled.store(value, std::memory_order_relaxed);
}

void set_redaction(const std::atomic<bool>* redacts) {
  redaction.store(redacts, std::memory_order_release);
}

void check_enabled() {
  if (!is_enabled()) throw OperationError(31264, "Cannot run server-side javascript without the javascript engine enabled");
}

struct Engine::State {
  explicit State(Allowance* given);
  ~State();

  // The engine's memory is taken from the budget in steps. What the budget refuses ends the call with what the budget threw: a
  // large allocation fails, and after a small one the next poll ends the function.
  bool grow(size_t bytes);
  bool hold(size_t bytes);  // so many in all; returns false if the budget refuses
  static void* allocate(void* state, size_t bytes);
  static void* allocate_zeros(void* state, size_t count, size_t bytes);
  static void* reallocate(void* state, void* memory, size_t bytes);
  static void release(void* state, void* memory);

  // Asks the operation if its last answer is a few milliseconds old, and keeps what ends it. Between two polls one function of
  // the language may run, so their number says nothing about time.
  bool goes_on();
  void ask();  // throws what ends the operation

  // A function that C++ implements. Its arguments are filled with undefined ones up to its arity.
  using Native = JSValue (*)(State& state, std::span<JSValueConst> arguments);
  struct NativeRow {
    const char* name;
    int arity;
    Native run;
  };
  static const NativeRow natives[];
  static JSValue run_native(JSContext* context, JSValueConst self, int count, JSValueConst* arguments, int row);
  void add_native(size_t row);

  // Keeps what was thrown, and makes the engine unwind without a JavaScript handler seeing it.
  JSValue end_with_failure(std::exception_ptr thrown);

  std::string text_of(JSValueConst value);
  void check(JSValueConst value);  // throws the exception that the engine has, if the value is one
  [[noreturn]] void end();
  void close();
  [[noreturn]] void throw_exception();

  Allowance* const allowance;
  size_t used_bytes = 0, held_bytes = 0;
  int64_t last_look_ms = 0;
  std::exception_ptr failure;
  JSRuntime* runtime = nullptr;
  JSContext* context = nullptr;
  std::optional<Values> values;
  JSValue compiler = JS_UNDEFINED;
  std::vector<JSValue> functions;
  Emit emit;
};

bool Engine::State::grow(size_t bytes) {
  const size_t wanted = used_bytes + bytes;
  if (wanted > held_bytes && !hold(wanted) && (bytes > small_bytes_max || wanted > held_bytes + beyond_limit_bytes_max))
    return false;
  used_bytes = wanted;
  return true;
}

bool Engine::State::hold(size_t bytes) {
  if (failure) return false;
  const size_t step = (bytes - held_bytes + step_bytes - 1) / step_bytes * step_bytes;
  try {
    if (allowance)
      allowance->memory().hold(step);
    else if (held_bytes + step > unlimited_engine_bytes)
      throw OperationError(interpreter_failure, "InternalError: out of memory");
  } catch (...) {
    failure = std::current_exception();
    return false;
  }
  held_bytes += step;
  return true;
}

// malloc may give more than was asked for. The surplus is counted when it is known.
void* Engine::State::allocate(void* state, size_t bytes) {
  State& own = *static_cast<State*>(state);
  if (!own.grow(bytes)) return nullptr;
  void* const memory = std::malloc(bytes);
  own.used_bytes += (memory ? ::malloc_usable_size(memory) : 0) - bytes;
  return memory;
}

void* Engine::State::allocate_zeros(void* state, size_t count, size_t bytes) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return nullptr;
  void* const memory = allocate(state, all);
  if (memory) std::memset(memory, 0, all);
  return memory;
}

void* Engine::State::reallocate(void* state, void* memory, size_t bytes) {
  State& own = *static_cast<State*>(state);
  if (!memory) return allocate(state, bytes);
  if (bytes == 0) return release(state, memory), nullptr;
  const size_t before = ::malloc_usable_size(memory);
  const size_t more = bytes > before ? bytes - before : 0;
  if (!own.grow(more)) return nullptr;
  own.used_bytes -= more;
  void* const moved = std::realloc(memory, bytes);
  if (moved) own.used_bytes += ::malloc_usable_size(moved) - before;
  return moved;
}

void Engine::State::release(void* state, void* memory) {
  if (!memory) return;
  static_cast<State*>(state)->used_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}

bool Engine::State::goes_on() {
  if (failure) return false;
  const int64_t now = rough_now_ms();
  if (now == last_look_ms) return true;
  try {
    ask();
    last_look_ms = now;
    return true;
  } catch (...) {
    failure = std::current_exception();
    return false;
  }
}

void Engine::State::ask() {
  if (allowance) allowance->work(work_between_looks);
}

JSValue Engine::State::end_with_failure(std::exception_ptr thrown) {
  failure = std::move(thrown);
  JS_ThrowInternalError(context, "ended");
  const JSValue error = JS_GetException(context);
  JS_SetUncatchableError(context, error);
  return JS_Throw(context, error);
}

JSValue Engine::State::run_native(JSContext* context, JSValueConst, int count, JSValueConst* arguments, int row) {
  State& state = *static_cast<State*>(JS_GetContextOpaque(context));
  const NativeRow& native = natives[row];
  try {
    return native.run(state, {arguments, static_cast<size_t>(std::max(count, native.arity))});
  } catch (...) {
    return state.end_with_failure(std::current_exception());
  }
}

void Engine::State::add_native(size_t row) {
  const NativeRow& native = natives[row];
  const JSValue global = JS_GetGlobalObject(context);
  JS_DefinePropertyValueStr(
      context, global, native.name,
      JS_NewCFunctionMagic(context, run_native, native.name, native.arity, JS_CFUNC_generic_magic, static_cast<int>(row)),
      JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
  JS_FreeValue(context, global);
}

std::string Engine::State::text_of(JSValueConst value) {
  size_t length = 0;
  const char* text = JS_ToCStringLen(context, &length, value);
  if (!text) throw_exception();
  std::string copy(text, length);
  JS_FreeCString(context, text);
  return copy;
}

// The prelude uses them; emit, the first, is there while a map function runs.
const Engine::State::NativeRow Engine::State::natives[] = {
    {"emit", 0,
     [](State& state, std::span<JSValueConst> arguments) {
       if (arguments.size() != 2) return JS_ThrowTypeError(state.context, "emit takes 2 args");
       bson::Builder out;
       if (!state.values->append(out, "k", arguments[0]) || !state.values->append(out, "v", arguments[1])) return JS_EXCEPTION;
       const bson::Document pair = out.done();
       state.emit(pair.view()["k"], pair.view()["v"]);
       return JS_UNDEFINED;
     }},
    {"__newObjectId", 0,
     [](State& state, std::span<JSValueConst>) {
       return JS_NewString(state.context, bson::ObjectId::generate().to_hex().c_str());
     }},
    {"__decimalText", 1,
     [](State& state, std::span<JSValueConst> arguments) {
       const auto number = bson::decimal_from_string(state.text_of(arguments[0]));
       if (!number) return JS_ThrowTypeError(state.context, "Input is not a valid Decimal128 value.");
       return JS_NewString(state.context, bson::decimal_to_string(*number).c_str());
     }},
    {"__md5", 1,
     [](State& state, std::span<JSValueConst> arguments) {
       bson::Md5 md5;
       md5.append(state.text_of(arguments[0]));
       return JS_NewString(state.context, md5.hex().c_str());
     }},
    {"__base64", 1,
     [](State& state, std::span<JSValueConst> arguments) {
       return JS_NewString(state.context, bson::base64_encode(base::from_hex(state.text_of(arguments[0])).value_or("")).c_str());
     }},
    {"__unbase64", 1,
     [](State& state, std::span<JSValueConst> arguments) {
       const auto bytes = bson::base64_decode(state.text_of(arguments[0]));
       if (!bytes) return JS_ThrowTypeError(state.context, "invalid base64");
       return JS_NewString(state.context, base::to_hex(*bytes).c_str());
     }},
    {"__print", 1,
     [](State& state, std::span<JSValueConst> arguments) {
       std::string line = state.text_of(arguments[0]);
       if (line.size() > printed_bytes_max) line.resize(printed_bytes_max);
       const std::atomic<bool>* const redacts = redaction.load(std::memory_order_acquire);
       if (redacts && redacts->load(std::memory_order_relaxed)) line = redacted;
       base::log(base::Severity::info, base::LogComponent::query, 7300001, "A client's function printed this",
                 base::Attributes().add("text", line));
       return JS_UNDEFINED;
     }},
    {"__sleep", 1,
     [](State& state, std::span<JSValueConst> arguments) {
       double ms = 0;
       JS_ToFloat64(state.context, &ms, arguments[0]);
       const auto until =
           std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(std::clamp(ms, 0.0, 1e9)));
       for (auto now = std::chrono::steady_clock::now(); now < until; now = std::chrono::steady_clock::now()) {
         std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(sleep_step, until - now));
         state.ask();
       }
       return JS_UNDEFINED;
     }},
};

Engine::State::State(Allowance* given) : allowance(given) {
  const JSMallocFunctions memory{allocate_zeros, allocate, release, reallocate,
                                 [](const void* at) { return ::malloc_usable_size(const_cast<void*>(at)); }};
  runtime = JS_NewRuntime2(&memory, this);
  if (runtime) context = JS_NewContext(runtime);
  if (!context) end();
  JS_SetContextOpaque(context, this);
  JS_UpdateStackTop(runtime);
  JS_SetMaxStackSize(runtime, stack_bytes);
  JS_SetInterruptHandler(
      runtime, [](JSRuntime*, void* state) { return static_cast<State*>(state)->goes_on() ? 0 : 1; }, this);
  try {
    for (size_t row = 1; row < std::size(natives); ++row) add_native(row);
    const JSValue global = JS_GetGlobalObject(context);
    JS_DefinePropertyValueStr(context, global, "__version",
                              JS_NewStringLen(context, compatible_version.data(), compatible_version.size()),
                              JS_PROP_CONFIGURABLE);
    const JSValue done = JS_Eval(context, prelude.data(), prelude.size(), "<prelude>", JS_EVAL_TYPE_GLOBAL);
    JS_FreeValue(context, done);
    compiler = JS_GetPropertyStr(context, global, "__compile");
    JS_FreeValue(context, global);
    check(done);
    values.emplace(context);
  } catch (...) {
    close();
    throw;
  }
}

Engine::State::~State() {
  close();
}

void Engine::State::close() {
  for (const JSValue function : functions) JS_FreeValue(context, function);
  if (context) JS_FreeValue(context, compiler);
  values.reset();
  if (context) JS_FreeContext(context);
  if (runtime) JS_FreeRuntime(runtime);
  context = nullptr;
  runtime = nullptr;
  if (allowance) allowance->memory().release(held_bytes);
}

// The engine had no memory for itself. This closes it, and throws the reason.
void Engine::State::end() {
  const std::exception_ptr thrown = std::exchange(failure, nullptr);
  close();
  if (thrown) std::rethrow_exception(thrown);
  throw OperationError(interpreter_failure, "Out of memory");
}

void Engine::State::check(JSValueConst value) {
  if (failure) {
    JS_FreeValue(context, JS_GetException(context));
    std::rethrow_exception(std::exchange(failure, nullptr));
  }
  if (JS_IsException(value)) throw_exception();
}

void Engine::State::throw_exception() {
  const Owned error(context, JS_GetException(context));
  if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  const auto text = [this](JSValueConst value) {
    const char* bytes = JS_ToCString(context, value);
    std::string copy = bytes ? bytes : "";
    if (!bytes) JS_FreeValue(context, JS_GetException(context));
    JS_FreeCString(context, bytes);
    return copy;
  };
  std::string what = text(error.get());
  if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  if (!JS_IsError(error.get())) throw OperationError(interpreter_failure, "uncaught exception: " + what);
  // Both engines throw the same error for it, and drivers' users know MongoDB's words.
  if (what == "RangeError: Maximum call stack size exceeded") what = "InternalError: too much recursion";
  const Owned stack(context, JS_GetPropertyStr(context, error.get(), "stack"));
  throw OperationError(interpreter_failure, what + " :\n" + text(stack.get()).substr(0, stack_text_bytes_max));
}

Engine::Engine(Allowance* allowance) : state_(std::make_unique<State>(allowance)) {}

Engine::~Engine() = default;

Engine::Function Engine::compile(std::string_view source) {
  State& own = *state_;
  JS_UpdateStackTop(own.runtime);
  const Owned text(own.context, JS_NewStringLen(own.context, source.data(), source.size()));
  own.check(text.get());
  JSValue argument = text.get();
  const JSValue function = JS_Call(own.context, own.compiler, JS_UNDEFINED, 1, &argument);
  own.check(function);
  own.functions.push_back(function);
  return own.functions.size() - 1;
}

bson::Value Engine::call(Function function, std::span<const ValueView> arguments, std::optional<bson::DocumentView> self) {
  State& own = *state_;
  JS_UpdateStackTop(own.runtime);
  const Owned self_value(own.context, self ? own.values->make(*self) : JS_UNDEFINED);
  own.check(self_value.get());
  std::vector<JSValue> made;
  bool ok = true;
  for (const ValueView& argument : arguments) {
    made.push_back(own.values->make(argument));
    ok = ok && !JS_IsException(made.back());
  }
  const Owned result(own.context, ok ? JS_Call(own.context, own.functions[function], self_value.get(),
                                               static_cast<int>(made.size()), made.data())
                                     : JS_EXCEPTION);
  for (const JSValue value : made) JS_FreeValue(own.context, value);
  own.check(result.get());
  bson::Builder out;
  const bool appended = own.values->append(out, "v", result.get());
  own.check(appended ? JS_UNDEFINED : JS_EXCEPTION);
  return bson::Value(out.done().view()["v"]);
}

bool Engine::holds(Function function, bson::DocumentView self) {
  State& own = *state_;
  JS_UpdateStackTop(own.runtime);
  const Owned self_value(own.context, own.values->make(self));
  own.check(self_value.get());
  const Owned global(own.context, JS_GetGlobalObject(own.context));
  const bool set = JS_SetPropertyStr(own.context, global.get(), "obj", JS_DupValue(own.context, self_value.get())) >= 0;
  own.check(set ? JS_UNDEFINED : JS_EXCEPTION);
  JSValue argument = self_value.get();
  const Owned result(own.context, JS_Call(own.context, own.functions[function], self_value.get(), 1, &argument));
  own.check(result.get());
  return JS_ToBool(own.context, result.get()) > 0;
}

void Engine::define(std::string_view name, const ValueView& value) {
  State& own = *state_;
  JS_UpdateStackTop(own.runtime);
  JSValue made = JS_UNDEFINED;
  if (value.type() == bson::Type::code || value.type() == bson::Type::code_with_scope) {
    const Function function = compile(value.type() == bson::Type::code ? value.as_string() : value.code_with_scope_code());
    made = JS_DupValue(own.context, own.functions[function]);
  } else {
    made = own.values->make(value);
    own.check(made);
  }
  const Owned global(own.context, JS_GetGlobalObject(own.context));
  const JSAtom atom = JS_NewAtomLen(own.context, name.data(), name.size());
  bool defined = false;
  if (atom != JS_ATOM_NULL)
    defined = JS_DefinePropertyValue(own.context, global.get(), atom, made, JS_PROP_C_W_E) >= 0;
  else
    JS_FreeValue(own.context, made);
  JS_FreeAtom(own.context, atom);
  own.check(defined ? JS_UNDEFINED : JS_EXCEPTION);
}

void Engine::define_emit(Emit emit) {
  state_->emit = std::move(emit);
  state_->add_native(0);
}

// The engine's first function is the lazy one.
Engine& LazyFunction::engine() const {
  if (!engine_) {
    check_enabled();
    auto made = std::make_unique<Engine>(allowance_);
    made->compile(source_);
    if (prepare_) prepare_(*made);
    engine_ = std::move(made);
  }
  return *engine_;
}

bson::Value LazyFunction::call(std::span<const ValueView> arguments) const {
  const base::MutexLock lock(mutex_);
  return engine().call(0, arguments);
}

bool LazyFunction::holds(bson::DocumentView self) const {
  const base::MutexLock lock(mutex_);
  return engine().holds(0, self);
}

std::optional<std::string> source_of(const ValueView& value) {
  if (value.type() == bson::Type::string || value.type() == bson::Type::code) return std::string(value.as_string());
  return std::nullopt;
}

}  // namespace server::script
