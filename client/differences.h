// Documents that two states show differently, for people.
#pragma once

#include <string>

#include "bson/document.h"

namespace client {

// Prints what the command `diff` answers, a line a document, below the names of their collections:
//
//   pages
//     + {"_id": 50}
//     ~ 1  n: 1 -> 100
class DifferencePrinter {
 public:
  void print(bson::DocumentView difference);
  bool empty() const { return collection_.empty(); }

 private:
  std::string collection_;
};

}  // namespace client
