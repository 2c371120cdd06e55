// These facts say of which commit the program was built; cmake/CommitFacts.cmake writes them.
#pragma once

#include <string_view>

namespace server {

// 40 hex digits, with "-changed" behind them if files differed from the commit; "unknown" if the build knew no commit.
std::string_view commit_id();
std::string_view commit_date();  // "2026-11-27"; empty if the commit is unknown

}  // namespace server
