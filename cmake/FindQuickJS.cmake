# QuickJS, the JavaScript engine.
include(${CMAKE_CURRENT_LIST_DIR}/Bootstrapped.cmake)
set(_patch ${CMAKE_CURRENT_LIST_DIR}/../scripts/quickjs.patch)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_patch})
file(SHA256 ${_patch} _hash)
string(SUBSTRING ${_hash} 0 12 _hash)
find_bootstrapped(QuickJS quickjs-0.17.0.2 quickjs.h libquickjs-${_hash}.a)
