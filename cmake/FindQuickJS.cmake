# QuickJS, the JavaScript engine.
include(${CMAKE_CURRENT_LIST_DIR}/Bootstrapped.cmake)
find_bootstrapped(QuickJS quickjs-0.17.0.2 quickjs.h libquickjs.a)
