# Writes OUTPUT, a source file that says of which commit of SOURCE the build is. It writes only if that changed, so a build without
# a new commit compiles nothing.
find_package(Git QUIET)
set(commit unknown)
set(date "")
# A tree that was unpacked within another repository is none of its commits.
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} log -1 --format=%H\;%cs
    OUTPUT_VARIABLE line OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
  if(result EQUAL 0)
    list(GET line 0 commit)
    list(GET line 1 date)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} diff --quiet HEAD ERROR_QUIET RESULT_VARIABLE changed)
    if(NOT changed EQUAL 0)
      string(APPEND commit "-changed")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "server/core/commit_facts.h"

namespace server {

std::string_view commit_id() {
  return "@commit@";
}

std::string_view commit_date() {
  return "@date@";
}

}  // namespace server
]])
