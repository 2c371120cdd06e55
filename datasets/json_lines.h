// JSON lines: one JSON object a line, as a document.
#pragma once

#include "bson/document.h"
#include "datasets/input/files.h"
#include "datasets/input/lines.h"

namespace datasets {

class JsonLines {
 public:
  JsonLines(InputFile file, Problems& problems);

  // The next line that can be read; what cannot is a problem. nullopt at the end.
  std::optional<bson::Document> next();

  // About the document just returned.
  void complain(const std::string& message);
  const std::string& name() const { return file_.name; }

 private:
  InputFile file_;
  Problems& problems_;
  LineReader lines_;
  bool done_ = false;
};

}  // namespace datasets
