// Made-up prose: words as frequent as words are (Zipf), sentences, paragraphs.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"

namespace datasets {

class TextMaker {
 public:
  explicit TextMaker(uint64_t seed);

  // Exactly that many bytes, of ASCII.
  std::string text(size_t bytes);
  const std::string& word();
  base::Random& random() { return random_; }

  // Exponential with that mean.
  double exponential(double mean);
  int poisson(double mean);

 private:
  base::Random random_;
  std::vector<std::string> words_;
};

}  // namespace datasets
