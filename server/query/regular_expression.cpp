#include "server/query/regular_expression.h"

#include <algorithm>
#include <exception>
#include <new>

#include "base/error.h"

namespace server::query {

namespace {

constexpr size_t pattern_bytes_max = 32'764;
constexpr uint32_t attempts_max = 1'000'000;
constexpr uint32_t depth_max = 100'000;
// With callouts machine code counts attempts that it makes in one step without them.
constexpr uint64_t watched_attempts_max = 10'000'000, watched_attempts_per_byte = 4;
// A step is the pass over one byte, of 2 ns at most in machine code.
constexpr double machine_steps_max = 1 << 28, interpreted_steps_max = 1 << 25;
constexpr uint64_t attempted_steps_max = 1 << 30;
constexpr size_t compile_units = 20;

struct ContextFree {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};
using MatchContext = std::unique_ptr<pcre2_match_context, ContextFree>;
using CompileContext = std::unique_ptr<pcre2_compile_context, ContextFree>;

MatchContext make_match_context() {
  MatchContext context(pcre2_match_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_depth_limit(context.get(), depth_max);
  return context;
}

CompileContext make_compile_context() {
  CompileContext context(pcre2_compile_context_create(nullptr));
  if (!context) throw std::bad_alloc();
  pcre2_set_max_pattern_length(context.get(), pattern_bytes_max);
  return context;
}

// Returns false if each part of the pattern matches only as many bytes as it has itself, or a few. Quoted signs and classes may
// make it return true for such a pattern, too.
bool may_repeat(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    switch (pattern[i]) {
      case '*':
      case '+':
      case '{': return true;
      case '\\':  // \X is a character with all its marks; \g<1> may be a recursion
        if (rest.size() > 1 && (rest[1] == 'X' || rest[1] == 'g')) return true;
        ++i;
        break;
      case '(':  // (?1), (?R), (?&name) and (?P>name) are recursions
        if (rest.starts_with("(?") && (rest.size() < 3 || std::string_view(":=!<imsx").find(rest[2]) == rest.npos)) return true;
        break;
      default: break;
    }
  }
  return false;
}

// A Watch follows a search that PCRE2 reports on.
struct Watch {
  Allowance& allowance;
  const size_t bytes_each;  // what each call stands for beside what was passed
  size_t position;
  std::exception_ptr ended = nullptr;
};

int look(pcre2_callout_block* at, void* data) {
  Watch& watch = *static_cast<Watch*>(data);
  const size_t now = at->current_position;
  const size_t passed = now > watch.position ? now - watch.position : watch.position - now;
  watch.position = now;
  try {
    watch.allowance.work_on(watch.bytes_each + passed);
    return 0;
  } catch (...) {
    watch.ended = std::current_exception();
    return PCRE2_ERROR_CALLOUT;
  }
}

}  // namespace

RegularExpression::RegularExpression(std::string_view pattern, uint32_t options, Code code, const Refusal& refusal,
                                     Allowance* allowance)
    : pattern_(pattern), options_(options), kind_(code), repeats_(may_repeat(pattern)), allowance_(allowance) {
  if (const int error = compile(options_, plain_)) {
    char text[256] = "";
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
    throw base::OperationError(refusal.code, std::string(refusal.message) + text);
  }
}

RegularExpression::~RegularExpression() = default;

int RegularExpression::compile(uint32_t options, Compiled& out) const {
  static const CompileContext context = make_compile_context();
  if (allowance_) allowance_->work(compile_units + std::min(pattern_.size(), pattern_bytes_max));
  int error = 0;
  PCRE2_SIZE at = 0;
  out.code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern_.data()), pattern_.size(), options, &error, &at, context.get()));
  if (!out.code) return error;
  if (kind_ == Code::machine) pcre2_jit_compile(out.code.get(), PCRE2_JIT_COMPLETE);  // without it matching is only slower
  if (allowance_) {
    size_t bytes = 0, machine_bytes = 0;
    pcre2_pattern_info(out.code.get(), PCRE2_INFO_SIZE, &bytes);
    pcre2_pattern_info(out.code.get(), PCRE2_INFO_JITSIZE, &machine_bytes);
    out.held.emplace(allowance_->memory()).set(sizeof(RegularExpression) + pattern_.size() + bytes + machine_bytes);
  }
  return 0;
}

double RegularExpression::steps(size_t bytes) const {
  const double length = static_cast<double>(bytes), items = static_cast<double>(pattern_.size());
  if (!repeats_) return length * items;
  // Machine code counts each item that repeats as an attempt, so their limit holds for it.
  return length * length * (kind_ == Code::machine ? 1 : items);
}

const pcre2_code* RegularExpression::watched() const {
  std::call_once(watched_once_, [this] { compile(options_ | PCRE2_AUTO_CALLOUT, watched_); });
  return watched_.code.get();
}

int RegularExpression::search(std::string_view text, size_t from, uint32_t options, pcre2_match_data* found,
                              Allowance* allowance) const {
  thread_local const MatchContext plain = make_match_context(), reporting = make_match_context();
  const auto match = [&](const pcre2_code* code, pcre2_match_context* context, uint64_t attempts) {
    pcre2_set_match_limit(context, static_cast<uint32_t>(std::min<uint64_t>(attempts, UINT32_MAX)));
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options, found, context);
  };
  const uint64_t length = text.size() - from;
  const bool short_enough = steps(length) <= (kind_ == Code::machine ? machine_steps_max : interpreted_steps_max);
  if (allowance && short_enough) {
    const uint64_t attempts = std::min<uint64_t>(attempts_max, attempted_steps_max / std::max<uint64_t>(length, 1));
    const int result = match(plain_.code.get(), plain.get(), attempts);
    if (result != PCRE2_ERROR_MATCHLIMIT || attempts == attempts_max) return result;
  }
  const pcre2_code* const code = allowance ? watched() : nullptr;
  if (!code) return match(plain_.code.get(), plain.get(), attempts_max);

  // A reference to a group may pass over as many bytes as there are, and come to the same place.
  uint32_t references = 0;
  pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &references);
  Watch watch{*allowance, references > 0 ? length : 0, from};
  pcre2_set_callout(reporting.get(), look, &watch);
  const int result =
      match(code, reporting.get(),
            kind_ == Code::machine ? watched_attempts_max + watched_attempts_per_byte * length : uint64_t{attempts_max});
  if (watch.ended) std::rethrow_exception(watch.ended);
  return result;
}

}  // namespace server::query
