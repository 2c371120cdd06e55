// The commands about search indexes are read and checked, and then refused, as by a mongod that isn't part of Atlas.
#pragma once

#include "server/core/arguments.h"
#include "server/core/command.h"

namespace server {

// Throws CommandNotSupported (115).
[[noreturn]] void refuse_search_index();

// A command about one index, or all of them: `id` or `name` finds it.
class NamedSearchIndex : public Command {
 public:
  enum class Definition { none, required };

  NamedSearchIndex(std::string_view name, std::string_view help, Definition definition = Definition::none)
      : name_(name), help_(help), definition_(definition) {}

  std::string_view name() const override { return name_; }
  std::string_view help() const override { return help_; }
  std::optional<FieldNames> fields() const override;
  bool takes_collection() const override { return true; }
  void run(OperationContext& op, const Request& request, bson::Builder& reply) override;

 private:
  const std::string_view name_, help_;
  const Definition definition_;
};

}  // namespace server
