#include "bench/chapter6/figures.h"

namespace bench::chapter6 {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {{"6.1"}, ratio_and_index_memory},
  };
  return all;
}

}  // namespace bench::chapter6
