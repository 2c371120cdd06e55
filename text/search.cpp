#include "text/search.h"

#include "text/tokenizer.h"

namespace text {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}

// These are the parts of a search string, before terms are made of its words.
struct Parts {
  std::string positive, negative;  // words, with spaces between them
  std::vector<std::string> phrases, negated_phrases;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Parts parse() {
    bool after_space = true;
    for (size_t at = 0; at < text_.size();) {
      if (is_space(text_[at])) {
        after_space = true;
        ++at;
        continue;
      }
      // A minus reaches to the next space: -foo-bar negates both words, and - foo neither.
      if (after_space && !in_phrase_) negated_ = false;
      if (text_[at] == '"') {
        quote(at++);
      } else if (text_[at] == '-') {
        if (after_space && !in_phrase_) negated_ = true;
        ++at;
      } else {
        at = word(at);
      }
      after_space = false;
    }
    return std::move(parts_);
  }

 private:
  void quote(size_t at) {
    if (!in_phrase_) {
      in_phrase_ = true;
      phrase_from_ = at + 1;
      return;
    }
    (negated_ ? parts_.negated_phrases : parts_.phrases).emplace_back(text_.substr(phrase_from_, at - phrase_from_));
    in_phrase_ = negated_ = false;
  }

  size_t word(size_t at) {
    size_t to = at;
    while (to < text_.size() && !is_space(text_[to]) && text_[to] != '"' && text_[to] != '-') ++to;
    if (!in_phrase_ || !negated_) ((negated_ ? parts_.negative : parts_.positive) += text_.substr(at, to - at)) += ' ';
    return to;
  }

  const std::string_view text_;
  Parts parts_;
  bool negated_ = false, in_phrase_ = false;
  size_t phrase_from_ = 0;
};

std::set<std::string> terms_of(std::string_view words, const Language& language, int version, const Folding& folding,
                               const EachTerm& each) {
  std::set<std::string> terms;
  each_term(words, language, version, folding, [&](std::string_view term) {
    if (terms.emplace(term).second && each) each(term);
    return true;
  });
  return terms;
}

}  // namespace

Search parse_search(std::string_view search, const Language& language, int version, const Folding& folding,
                    const EachTerm& each) {
  Parts parts = Parser(search).parse();
  Search found;
  found.index_terms = terms_of(parts.positive, language, version, {}, each);
  found.terms = terms_of(parts.positive, language, version, folding, each);
  found.negated_terms = terms_of(parts.negative, language, version, folding, each);
  found.phrases = std::move(parts.phrases);
  found.negated_phrases = std::move(parts.negated_phrases);
  return found;
}

}  // namespace text
