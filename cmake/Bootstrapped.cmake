# Finds what scripts/bootstrap installs below PALIMPSEST_PREFIX.
#
#   bootstrapped_home(variable folder)              sets the variable to the folder's path
#   find_bootstrapped(NAME folder header library)   finds a static library and makes NAME::NAME of it
include(FindPackageHandleStandardArgs)

macro(bootstrapped_home variable folder)
  set(_prefix "$ENV{PALIMPSEST_PREFIX}")
  if(NOT _prefix)
    if(DEFINED ENV{XDG_CACHE_HOME})
      set(_prefix "$ENV{XDG_CACHE_HOME}/palimpsest")
    else()
      set(_prefix "$ENV{HOME}/.cache/palimpsest")
    endif()
  endif()
  set(${variable} "${_prefix}/${folder}")
endmacro()

macro(find_bootstrapped name folder header library)
  bootstrapped_home(_home ${folder})
  # A build folder remembers the library that it was made with.
  if(DEFINED ${name}_LIBRARY AND NOT ${name}_LIBRARY STREQUAL "${_home}/lib/${library}")
    unset(${name}_LIBRARY CACHE)
    unset(${name}_INCLUDE_DIR CACHE)
  endif()
  find_path(${name}_INCLUDE_DIR ${header} PATHS ${_home}/include NO_DEFAULT_PATH)
  find_library(${name}_LIBRARY NAMES ${library} PATHS ${_home}/lib NO_DEFAULT_PATH)

  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "run scripts/bootstrap first")
  if(${name}_FOUND AND NOT TARGET ${name}::${name})
    add_library(${name}::${name} STATIC IMPORTED)
    set_target_properties(${name}::${name} PROPERTIES
      IMPORTED_LOCATION ${${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
  endif()
endmacro()
