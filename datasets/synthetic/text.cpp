#include "datasets/synthetic/text.h"

#include <cmath>

namespace datasets {
namespace {

constexpr size_t words_max = 20000;

std::string make_word(base::Random& random) {
  static constexpr std::string_view onsets[] = {"b", "c", "d", "f", "g",  "h",  "l",  "m",  "n",  "p",  "r",
                                                "s", "t", "v", "w", "st", "tr", "pl", "sh", "ch", "th", ""};
  static constexpr std::string_view vowels[] = {"a", "e", "i", "o", "u", "ea", "ou", "io"};
  static constexpr std::string_view codas[] = {"", "", "", "n", "r", "s", "t", "l", "nd", "ng", "rs"};
  std::string word;
  for (uint64_t syllables = 1 + random.below(4); syllables > 0; --syllables) {
    word += onsets[random.below(std::size(onsets))];
    word += vowels[random.below(std::size(vowels))];
    word += codas[random.below(std::size(codas))];
  }
  return word;
}

}  // namespace

TextMaker::TextMaker(uint64_t seed) : random_(seed) {
  base::Random dictionary(7);  // all seeds have one language
  words_.reserve(words_max);
  while (words_.size() < words_max) words_.push_back(make_word(dictionary));
}

// The rank is r with a probability near 1/r: this is the exponential of a uniform number.
const std::string& TextMaker::word() {
  const auto rank = static_cast<size_t>(std::exp(random_.unit() * std::log(static_cast<double>(words_max))));
  return words_[std::min(rank, words_max - 1)];
}

std::string TextMaker::text(size_t bytes) {
  std::string out;
  out.reserve(bytes + 64);
  size_t sentence = 0;
  while (out.size() < bytes) {
    const size_t from = out.size();
    out += word();
    if (sentence == 0) out[from] = static_cast<char>(out[from] - 'a' + 'A');
    if (++sentence > 4 + random_.below(16)) {
      out += random_.below(6) == 0 ? ".\n\n" : ". ";
      sentence = 0;
    } else {
      out += ' ';
    }
  }
  out.resize(bytes);
  return out;
}

double TextMaker::exponential(double mean) {
  return -mean * std::log(1.0 - random_.unit());
}

int TextMaker::poisson(double mean) {
  const double limit = std::exp(-mean);
  int count = 0;
  for (double product = random_.unit(); product > limit; product *= random_.unit()) ++count;
  return count;
}

}  // namespace datasets
