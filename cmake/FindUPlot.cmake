# uPlot, as scripts/bootstrap fetches it in the version that datasets/report/page/package.json names.
include(FindPackageHandleStandardArgs)
include(${CMAKE_CURRENT_LIST_DIR}/Bootstrapped.cmake)
file(READ ${CMAKE_SOURCE_DIR}/datasets/report/page/package.json _package)
string(JSON UPlot_VERSION GET "${_package}" dependencies uplot)
bootstrapped_home(_home uplot-${UPlot_VERSION})
# Another version may be there from an earlier run: the path is looked up anew each time.
unset(UPlot_DIRECTORY CACHE)
find_path(UPlot_DIRECTORY dist/uPlot.iife.min.js PATHS ${_home}/node_modules/uplot NO_DEFAULT_PATH)
find_package_handle_standard_args(UPlot REQUIRED_VARS UPlot_DIRECTORY VERSION_VAR UPlot_VERSION
  REASON_FAILURE_MESSAGE "run scripts/bootstrap first")
