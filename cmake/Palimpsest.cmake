# One library target per folder; the tests, benchmarks and fuzz targets that
# stand beside the units become programs of their own.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# Without this on the libraries too the fuzzer sees only its own ten lines.
if(PALIMPSEST_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Programs of unit and property tests: `--target unit_tests` builds them, `ctest -L unit` runs them.
add_custom_target(unit_tests)
function(palimpsest_unit_test name program)
  add_test(NAME ${name} COMMAND ${program} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS unit COST 30)
  add_dependencies(unit_tests ${program})
endfunction()

# What includes Asio links this: files of one program that see other settings break each other.
add_library(palimpsest_asio INTERFACE)
# Asio finds aligned_alloc only where a standard header came before it, and then frees in one file what another has
# allocated differently.
target_compile_definitions(palimpsest_asio INTERFACE ASIO_STANDALONE ASIO_DISABLE_STD_ALIGNED_ALLOC)
# Asio finds GCC's coroutines by itself, but not clang's, and clang's tools read these files, too.
target_compile_definitions(palimpsest_asio INTERFACE ASIO_HAS_CO_AWAIT)
# ThreadSanitizer knows no fences; Asio's locks order everything that matters.
if(PALIMPSEST_SANITIZE MATCHES thread)
  target_compile_definitions(palimpsest_asio INTERFACE ASIO_DISABLE_FENCED_BLOCK)
endif()

# palimpsest_folder(NAME [LINK target...] [TEST_LINK target...] [EXCLUDE regex...])
#
#   *.cpp                     -> library  palimpsest_NAME
#   *_test.cpp                -> program  NAME_tests   (ctest: NAME)
#   *_bench.cpp               -> program  NAME_benchmarks
#   *_fuzz.cpp                -> program  NAME_fuzz (fuzz preset), and a part of fuzz_replay (all others; tests/fuzz)
#
# EXCLUDE leaves out files whose path in the folder matches (main.cpp, a part with a library of its own).
function(palimpsest_folder name)
  cmake_parse_arguments(arg "" "" "LINK;TEST_LINK;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
  foreach(pattern ${arg_EXCLUDE})
    list(FILTER files EXCLUDE REGEX ${pattern})
  endforeach()
  set(tests ${files})
  set(benches ${files})
  set(fuzzers ${files})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER files EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")

  add_library(palimpsest_${name} STATIC ${files})
  target_link_libraries(palimpsest_${name} PUBLIC ${arg_LINK} Threads::Threads)

  if(tests AND NOT PALIMPSEST_FUZZ)
    add_executable(${name}_tests ${tests})
    target_link_libraries(${name}_tests PRIVATE palimpsest_${name} palimpsest_test_main ${arg_TEST_LINK})
    # GCC 12 sees overlaps in `"text" + string` that are not there (its bug 105651).
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name}_tests PRIVATE -Wno-restrict)
    endif()
    palimpsest_unit_test(${name} ${name}_tests)
  endif()
  if(benches AND NOT PALIMPSEST_SANITIZE)
    find_package(benchmark REQUIRED)
    add_executable(${name}_benchmarks ${benches})
    target_link_libraries(${name}_benchmarks PRIVATE palimpsest_${name} benchmark::benchmark_main ${arg_TEST_LINK})
  endif()
  if(fuzzers)
    palimpsest_fuzz_targets(${name} ${fuzzers})
  endif()
endfunction()

# The sources that hold a folder's fuzz targets (base/fuzz_target.h).
function(palimpsest_fuzz_targets name)
  add_library(palimpsest_${name}_fuzz OBJECT ${ARGN})
  target_link_libraries(palimpsest_${name}_fuzz PUBLIC palimpsest_${name})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # As for the tests; and GCC 12 suspects vectors in temporaries of designated initializers to be uninitialized.
    target_compile_options(palimpsest_${name}_fuzz PRIVATE -Wno-restrict -Wno-maybe-uninitialized)
  endif()
  set_property(GLOBAL APPEND PROPERTY PALIMPSEST_FUZZ_TARGETS palimpsest_${name}_fuzz)
  if(PALIMPSEST_FUZZ)
    add_executable(${name}_fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz/libfuzzer.cc)
    target_link_libraries(${name}_fuzz PRIVATE palimpsest_${name}_fuzz)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzz_targets)
      add_custom_target(fuzz_targets)
    endif()
    add_dependencies(fuzz_targets ${name}_fuzz)
  endif()
endfunction()
