// A RegularExpression is a client's pattern, for PCRE2.
//
// The length of the text doesn't bound the cost of a search: `.*x.*y` tries each pair of places, and other patterns try far more.
// So a search first runs as it is, with a limit on its attempts that keeps it below a second. Where the text is too long for
// that, or the limit was too low, the search runs with callouts: PCRE2 calls before each item of the pattern, and the call
// accounts for the bytes that were passed since the last one. Such a search stops with its operation.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/allowance.h"

namespace server::query {

// Thread-safe, if its allowance is nullptr.
class RegularExpression {
 public:
  // Machine code takes longer to make, and runs ten times as fast. What exceeds PCRE2's limits may differ between the two.
  enum class Code { interpreted, machine };
  // The error of a pattern that is none begins with `message`.
  struct Refusal {
    int code;
    std::string_view message;
  };

  // `options` are those of pcre2_compile(). What compiling costs, and the memory, are the allowance's, which must outlive this
  // object; nullptr: nobody counts them.
  RegularExpression(std::string_view pattern, uint32_t options, Code code, const Refusal& refusal, Allowance* allowance);
  ~RegularExpression();
  RegularExpression(const RegularExpression&) = delete;
  RegularExpression& operator=(const RegularExpression&) = delete;

  struct MatchDataFree {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  using MatchData = std::unique_ptr<pcre2_match_data, MatchDataFree>;
  // Has room for the places of all groups.
  MatchData make_match_data() const { return MatchData(pcre2_match_data_create_from_pattern(code(), nullptr)); }

  // Searches from the byte `from` on, and returns what pcre2_match() returns with `options`: a negative number for no match, and
  // for one that exceeds the limits. Throws what Allowance::work throws; nullptr: nobody can stop the search.
  int search(std::string_view text, size_t from, uint32_t options, pcre2_match_data* found, Allowance* allowance) const;

  const pcre2_code* code() const { return plain_.code.get(); }

 private:
  struct CodeFree {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };
  struct Compiled {
    std::unique_ptr<pcre2_code, CodeFree> code;
    std::optional<Held> held;
  };
  // Returns PCRE2's error, or 0.
  int compile(uint32_t options, Compiled& out) const;
  // Returns about how many bytes a search through so many may pass, if it goes on to the end once from each.
  double steps(size_t bytes) const;
  // Returns the code with callouts; nullptr: the pattern is too large for them.
  const pcre2_code* watched() const;

  const std::string pattern_;
  const uint32_t options_;
  const Code kind_;
  const bool repeats_;  // a part of the pattern may match a text of any length
  Allowance* const allowance_;
  Compiled plain_;
  mutable Compiled watched_;  // is made when a search needs it
  mutable std::once_flag watched_once_;
};

}  // namespace server::query
