# Node.js, and the packages of npm that console/web/package-lock.json names, as scripts/bootstrap fetches them.
#
#   ConsoleModules_NODE        the program
#   ConsoleModules_DIRECTORY   the folder node_modules
include(FindPackageHandleStandardArgs)
include(${CMAKE_CURRENT_LIST_DIR}/Bootstrapped.cmake)
file(SHA256 ${CMAKE_SOURCE_DIR}/console/web/package-lock.json _hash)
string(SUBSTRING ${_hash} 0 12 ConsoleModules_VERSION)
bootstrapped_home(_home console-${ConsoleModules_VERSION})
find_program(ConsoleModules_NODE node)
# Other versions may be there from an earlier run: the path is looked up anew each time.
unset(ConsoleModules_DIRECTORY CACHE)
find_path(ConsoleModules_DIRECTORY vite/bin/vite.js PATHS ${_home}/node_modules NO_DEFAULT_PATH)
find_package_handle_standard_args(ConsoleModules REQUIRED_VARS ConsoleModules_DIRECTORY ConsoleModules_NODE
  REASON_FAILURE_MESSAGE "run scripts/bootstrap first")
