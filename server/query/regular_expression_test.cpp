#include "server/query/regular_expression.h"

#include <rapidcheck/catch.h>
#include <catch2/catch.hpp>

#include <vector>

#include "base/error.h"
#include "base/testing.h"
#include "server/query/test_support.h"

namespace server::query {
using base::testing::code_of;

namespace {

using Code = RegularExpression::Code;
constexpr RegularExpression::Refusal refusal{51091, "Regular expression is invalid: "};
constexpr int interrupted = 11601, exceeded_memory_limit = 146;
OperationContext* const nobody = nullptr;

// The place of the first match, and PCRE2's answer.
struct Found {
  int groups;
  std::vector<size_t> ends;
  bool operator==(const Found&) const = default;
};

Found search(const RegularExpression& regex, std::string_view text, Allowance* allowance) {
  const auto data = regex.make_match_data();
  Found found{regex.search(text, 0, 0, data.get(), allowance), {}};
  for (int i = 0; i < 2 * found.groups; ++i) found.ends.push_back(pcre2_get_ovector_pointer(data.get())[i]);
  return found;
}

std::string repeated(std::string_view part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("a search ends with its operation") {
  TestServer server;
  TestServer::Operation operation(server);
  OperationContext* const current = &operation.op;
  operation.op.kill();
  const std::string text(1 << 20, 'x');
  for (const Code code : {Code::interpreted, Code::machine}) {
    for (const char* pattern : {"x{1,60000}[yz]", "(?=x)x+[yz]", "x(?=x*[yz])", "(?<=x)x+[yz]", "(?:(x*)\\1)[yz]"}) {
      INFO(pattern);
      Allowance compiling(nobody, nullptr), searching(current, nullptr);
      const RegularExpression regex(pattern, PCRE2_UTF, code, refusal, &compiling);
      CHECK(code_of([&] { search(regex, text, &searching); }) == interrupted);
    }
  }
}

TEST_CASE("a search that an operation may stop finds what another does") {
  CHECK(rc::check("searches", [] {
    const auto from = [](const std::vector<std::string>& parts, size_t count) {
      std::string out;
      for (const std::string& part : *rc::gen::container<std::vector<std::string>>(count, rc::gen::elementOf(parts))) out += part;
      return out;
    };
    const auto count = *rc::gen::inRange<size_t>(1, 6);
    const std::string pattern =
        from({"a", "b", "a+", "b*", "[ab]+", "(a|b)", "(?:ab)?", ".", "\\bc", "(b+)c", "c{2,}", "x"}, count);
    const auto length = *rc::gen::inRange<size_t>(20, 40);
    const std::string text = repeated(from({"a", "b", "c", " "}, length) + "\n", 1'000) + from({"a", "b", "c", " x"}, length);
    for (const Code code : {Code::interpreted, Code::machine}) {
      Allowance allowance(nobody, nullptr);
      const RegularExpression regex(pattern, PCRE2_UTF, code, refusal, nullptr);
      RC_LOG() << pattern << " in " << text.size() << " bytes\n";
      RC_ASSERT(search(regex, text, &allowance) == search(regex, text, nullptr));
    }
  }));
}

TEST_CASE("a search through a long line counts no more attempts than it may") {
  const std::string text = "lorem" + repeated(" ipsum", 300'000) + "z";
  Allowance allowance(nobody, nullptr);
  const RegularExpression regex("lorem.*m.*z", PCRE2_UTF, Code::machine, refusal, &allowance);
  CHECK(search(regex, text, &allowance).groups > 0);
  const RegularExpression early("lorem.*lorem.*psum i", PCRE2_UTF, Code::machine, refusal, &allowance);
  CHECK(search(early, "lorem" + text, &allowance).groups > 0);
}

TEST_CASE("a pattern too large for callouts is searched for, too") {
  std::string pattern = "never+";
  for (int i = 0; i < 1000; ++i) pattern += "|word" + std::to_string(i);
  const std::string text = repeated("wor ", 10'000) + "word999";
  Allowance allowance(nobody, nullptr);
  const RegularExpression regex(pattern, PCRE2_UTF, Code::machine, refusal, &allowance);
  CHECK(search(regex, text, &allowance).ends.at(0) == 40'000);
}

TEST_CASE("compiled patterns are their operation's memory, and go back") {
  MemoryPool pool(16 << 20, 8 << 20);
  Allowance allowance(nobody, &pool);
  std::vector<std::unique_ptr<RegularExpression>> kept;
  CHECK(code_of([&] {
          for (int i = 0; i < 1'000'000; ++i)
            kept.push_back(
                std::make_unique<RegularExpression>("a" + std::to_string(i), PCRE2_UTF, Code::machine, refusal, &allowance));
        }) == exceeded_memory_limit);
  CHECK(kept.size() > 1000);
  kept.clear();
  CHECK(allowance.memory().held() == 0);

  const RegularExpression regex("x+[yz]", PCRE2_UTF, Code::machine, refusal, &allowance);
  const size_t plain = allowance.memory().held();
  search(regex, std::string(1 << 17, 'x'), &allowance);
  CHECK(allowance.memory().held() > plain);
}

TEST_CASE("a pattern that is none, or too long, is refused") {
  const auto code = [](const std::string& pattern) {
    return code_of([&] { RegularExpression(pattern, PCRE2_UTF, Code::machine, refusal, nullptr); });
  };
  CHECK(code("(") == 51091);
  CHECK(code(std::string(32'764, 'a')) == 0);
  CHECK(code(std::string(32'765, 'a')) == 51091);
}

}  // namespace server::query
