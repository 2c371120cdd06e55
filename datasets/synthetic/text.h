// This makes up prose: words with natural frequencies (Zipf), sentences, paragraphs.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"

namespace datasets {

class TextMaker {
 public:
  explicit TextMaker(uint64_t seed);

  // Makes exactly that many bytes of ASCII.
  std::string text(size_t bytes);
  const std::string& word();
  base::Random& random() { return random_; }

  // Returns an exponentially distributed number with that mean.
  double exponential(double mean);
  int poisson(double mean);

 private:
  base::Random random_;
  std::vector<std::string> words_;
};

}  // namespace datasets
