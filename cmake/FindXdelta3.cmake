# xdelta3, and how its header was compiled.
include(${CMAKE_CURRENT_LIST_DIR}/Bootstrapped.cmake)
find_bootstrapped(Xdelta3 xdelta3-0.0.5 xdelta3.h libxdelta3.a)
set_target_properties(Xdelta3::Xdelta3 PROPERTIES
  INTERFACE_COMPILE_DEFINITIONS "SIZEOF_SIZE_T=8;SIZEOF_UNSIGNED_LONG_LONG=8;XD3_USE_LARGEFILE64=1")
