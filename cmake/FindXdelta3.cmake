# xdelta3 as scripts/bootstrap builds it: a static library and its header.
set(_prefix "$ENV{PALIMPSEST_PREFIX}")
if(NOT _prefix)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(_prefix "$ENV{XDG_CACHE_HOME}/palimpsest")
  else()
    set(_prefix "$ENV{HOME}/.cache/palimpsest")
  endif()
endif()
set(_home "${_prefix}/xdelta3-0.0.5")
find_path(Xdelta3_INCLUDE_DIR xdelta3.h PATHS ${_home}/include NO_DEFAULT_PATH)
find_library(Xdelta3_LIBRARY NAMES libxdelta3.a PATHS ${_home}/lib NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Xdelta3 REQUIRED_VARS Xdelta3_LIBRARY Xdelta3_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run scripts/bootstrap first")
if(Xdelta3_FOUND AND NOT TARGET Xdelta3::Xdelta3)
  add_library(Xdelta3::Xdelta3 STATIC IMPORTED)
  set_target_properties(Xdelta3::Xdelta3 PROPERTIES
    IMPORTED_LOCATION ${Xdelta3_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Xdelta3_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS "SIZEOF_SIZE_T=8;SIZEOF_UNSIGNED_LONG_LONG=8;XD3_USE_LARGEFILE64=1")
endif()
