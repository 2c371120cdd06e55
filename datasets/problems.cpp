#include "datasets/problems.h"

namespace datasets {

std::string to_string(const Problem& problem) {
  std::string text = problem.file + ": ";
  if (problem.line > 0) text += "line " + std::to_string(problem.line) + ", ";
  return text + "byte " + std::to_string(problem.offset) + ": " + problem.message;
}

void Problems::report(Problem problem) {
  ++count_;
  if (policy_ == Policy::stop) throw InputError(problem);
  if (kept_.size() < kept_max) kept_.push_back(std::move(problem));
}

}  // namespace datasets
