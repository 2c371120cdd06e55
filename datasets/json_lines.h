// JsonLines reads one JSON object a line, as a document.
#pragma once

#include "bson/document.h"
#include "datasets/input/files.h"
#include "datasets/input/lines.h"

namespace datasets {

class JsonLines {
 public:
  JsonLines(InputFile file, Problems& problems);

  // Returns the next line that can be read; others are problems. Returns nullopt at the end.
  std::optional<bson::Document> next();

  // Reports a problem with the document that was just returned.
  void complain(const std::string& message);
  const std::string& name() const { return file_.name; }

 private:
  InputFile file_;
  Problems& problems_;
  LineReader lines_;
  bool done_ = false;
};

}  // namespace datasets
