// MongoDB's Stable API v1 is what a client with apiStrict may use. Commands know by themselves whether they are part of it
// (Command::stable_api); this file knows the fields and stages that are not.
#pragma once

#include <string_view>

#include "bson/document.h"

namespace server {

class Command;

// Throws APIStrictError (323) for a field that the command knows and the Stable API doesn't.
void check_stable_field(const Command& command, std::string_view field);

// Does the same for a stage of a pipeline: {$name: …}.
void check_stable_stage(const bson::Element& stage);

}  // namespace server
