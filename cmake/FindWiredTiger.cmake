# WiredTiger as scripts/bootstrap installs it: static, with its compressors.
set(_prefix "$ENV{PALIMPSEST_PREFIX}")
if(NOT _prefix)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(_prefix "$ENV{XDG_CACHE_HOME}/palimpsest")
  else()
    set(_prefix "$ENV{HOME}/.cache/palimpsest")
  endif()
endif()
set(_home "${_prefix}/wiredtiger-11.3.1")
find_path(WiredTiger_INCLUDE_DIR wiredtiger.h PATHS ${_home}/include NO_DEFAULT_PATH)
find_library(WiredTiger_LIBRARY NAMES libwiredtiger.a PATHS ${_home}/lib NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(WiredTiger REQUIRED_VARS WiredTiger_LIBRARY WiredTiger_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run scripts/bootstrap first")
if(WiredTiger_FOUND AND NOT TARGET WiredTiger::WiredTiger)
  add_library(WiredTiger::WiredTiger STATIC IMPORTED)
  set_target_properties(WiredTiger::WiredTiger PROPERTIES
    IMPORTED_LOCATION ${WiredTiger_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${WiredTiger_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "zstd;snappy;lz4;pthread;rt;dl")
endif()
