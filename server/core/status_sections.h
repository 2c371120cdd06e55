// The sections of serverStatus. Each part of the server adds its own.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "bson/builder.h"

namespace server {

class OperationContext;

// Sections are added at start; after that, the list is read-only.
class StatusSections {
 public:
  // Appends the section's fields.
  using Writer = std::function<void(OperationContext&, bson::Builder&)>;
  struct Section {
    Writer write;
    bool by_default = true;  // false: only a client that names it gets it: {serverStatus: 1, name: 1}
  };

  void add(std::string name, Writer write, bool by_default = true) {
    sections_[std::move(name)] = {std::move(write), by_default};
  }
  const std::map<std::string, Section>& all() const { return sections_; }

 private:
  std::map<std::string, Section> sections_;
};

}  // namespace server
