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

# The standard headers that most files include, compiled once: reading them is half of what a file takes. Libraries and programs
# are compiled for other places in memory, so that each kind has its own.
set(standard_headers algorithm array atomic bit chrono compare condition_variable cstddef cstdint cstring deque exception
  functional initializer_list iterator limits list map memory mutex new numeric optional set shared_mutex span sstream stdexcept
  string string_view system_error thread tuple type_traits unordered_map unordered_set utility variant vector)
list(TRANSFORM standard_headers REPLACE "^(.+)$" "<\\1>")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled_library.cpp CONTENT "")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled_program.cpp CONTENT "int main() {}\n")
add_library(precompiled_library STATIC ${CMAKE_BINARY_DIR}/precompiled_library.cpp)
add_executable(precompiled_program ${CMAKE_BINARY_DIR}/precompiled_program.cpp)
target_precompile_headers(precompiled_library PRIVATE ${standard_headers})
target_precompile_headers(precompiled_program PRIVATE ${standard_headers})

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
  target_precompile_headers(palimpsest_${name} REUSE_FROM precompiled_library)

  if(tests AND NOT PALIMPSEST_FUZZ)
    add_executable(${name}_tests ${tests})
    target_link_libraries(${name}_tests PRIVATE palimpsest_${name} palimpsest_test_main ${arg_TEST_LINK})
    target_precompile_headers(${name}_tests REUSE_FROM precompiled_program)
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
  target_precompile_headers(palimpsest_${name}_fuzz REUSE_FROM precompiled_library)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 suspects vectors in temporaries of designated initializers to be uninitialized.
    target_compile_options(palimpsest_${name}_fuzz PRIVATE -Wno-maybe-uninitialized)
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
