# cudaemu_translate(<variable> <file.cu>...): lists the C++ sources that translate.py makes.
function(cudaemu_translate variable)
  set(sources)
  foreach(file IN LISTS ARGN)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/translated/${name}.cpp)
    cmake_path(GET source PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${source}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/translate.py ${name} ${source}
      DEPENDS ${file} ${CMAKE_CURRENT_SOURCE_DIR}/translate.py
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
    list(APPEND sources ${source})
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# cudaemu_libraries(<suffix> [WATCHED_BY <definition>] [SANITIZERS <flag>...]) makes cudaemu<suffix>
# and cudaemu_kernels<suffix>. Sanitizers instrument only the kernels. The emulator switches the
# stacks of their threads, and WATCHED_BY tells it which sanitizer is active.
function(cudaemu_libraries suffix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "WATCHED_BY" "SANITIZERS")
  add_library(cudaemu${suffix} OBJECT EXCLUDE_FROM_ALL
    emulator/block.cpp emulator/device.cpp emulator/fiber.cpp emulator/grid.cpp
    emulator/runtime.cpp emulator/runtime_streams.cpp emulator/settings.cpp emulator/stream.cpp
    emulator/stuck.cpp emulator/warp.cpp)
  target_include_directories(cudaemu${suffix} BEFORE PUBLIC include PRIVATE emulator)
  target_compile_definitions(cudaemu${suffix} PRIVATE ${arg_WATCHED_BY})
  # Keeps loops from becoming calls of memset. ThreadSanitizer would take such a call for an access
  # of the running kernel.
  target_compile_options(cudaemu${suffix} PRIVATE -fno-sanitize=all
                         -fno-tree-loop-distribute-patterns)
  target_link_libraries(cudaemu${suffix} PRIVATE mgpu_warnings)

  add_library(cudaemu_kernels${suffix} OBJECT EXCLUDE_FROM_ALL ${kernel_sources})
  target_include_directories(cudaemu_kernels${suffix} BEFORE PUBLIC include
                             PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
  # These are the warnings that nvcc passes to g++; device code is not written for more.
  target_compile_options(cudaemu_kernels${suffix} PRIVATE -O2 ${arg_SANITIZERS} -Wall -Wextra
                         -Wundef -Werror -Wno-unknown-pragmas)
  target_link_libraries(cudaemu_kernels${suffix} PUBLIC mgpu::kernels)
endfunction()

# cudaemu_again(<test> <how> LABEL <label> [FILTER <tests>] [ENVIRONMENT <name=value>...]) runs a
# test program once more, as <test>.<how>.
function(cudaemu_again test how)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LABEL;FILTER" "ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_LABEL)
    message(FATAL_ERROR "cudaemu_again(${test} ${how}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_test(NAME ${test}.${how} COMMAND ${test})
  set_tests_properties(${test}.${how} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 600
    ENVIRONMENT "GTEST_FILTER=${arg_FILTER};${arg_ENVIRONMENT}"
    FAIL_REGULAR_EXPRESSION "0 tests from 0 test suites")
endfunction()

# cudaemu_on_gpus(<test> <ranks> [AGAIN <how> TIER <tier>] [FILTER <tests>]
#                 [ENVIRONMENT <name=value>...])
# gives the entry <test>.np<ranks> a GPU for each rank. With AGAIN it adds the entry
# <test>.<how>.np<ranks> of a tier instead.
function(cudaemu_on_gpus test ranks)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "AGAIN;TIER;FILTER" "ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cudaemu_on_gpus(${test} ${ranks}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(name ${test}.np${ranks})
  if(arg_AGAIN)
    set(name ${test}.${arg_AGAIN}.np${ranks})
    add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe ${MPIEXEC_NUMPROC_FLAG}
             ${ranks} $<TARGET_FILE:${test}>)
    set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS mpi
                         ENVIRONMENT "${MGPU_TEST_ENVIRONMENT}")
    mgpu_own_mpi_folder(${name})
    mgpu_tier(${arg_TIER} ${name})
  endif()
  if(arg_FILTER)
    list(APPEND arg_ENVIRONMENT GTEST_FILTER=${arg_FILTER})
    set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "Running 0 tests")
  endif()
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT CUDAEMU_DEVICES=${ranks} ${arg_ENVIRONMENT})
endfunction()

# cudaemu_sanitized(<suffix> WATCHED_BY <definition> SANITIZERS <flag>...) adds the three test
# programs with sanitized kernels, labelled "long". They are built just before they run.
function(cudaemu_sanitized suffix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "WATCHED_BY" "SANITIZERS")
  set(sanitizers ${arg_SANITIZERS} -fno-omit-frame-pointer -g)
  cudaemu_libraries(${suffix} WATCHED_BY ${arg_WATCHED_BY} SANITIZERS ${sanitizers})
  foreach(test self kernel sweep)
    set(name cudaemu_${test}_test${suffix})
    get_target_property(sources cudaemu_${test}_test SOURCES)
    get_target_property(folders cudaemu_${test}_test INCLUDE_DIRECTORIES)
    get_target_property(definitions cudaemu_${test}_test COMPILE_DEFINITIONS)
    add_executable(${name} EXCLUDE_FROM_ALL ${sources})
    target_include_directories(${name} PRIVATE ${folders})
    if(definitions)
      target_compile_definitions(${name} PRIVATE ${definitions})
    endif()
    target_compile_options(${name} PRIVATE ${sanitizers})
    target_link_options(${name} PRIVATE ${sanitizers})
    target_link_libraries(${name} PRIVATE cudaemu_kernels${suffix} cudaemu${suffix} mgpu::kernels
                          mgpu_plain_test_options GTest::gtest_main)
    add_dependencies(cudaemu_sanitized ${name})
    add_test(NAME ${name} COMMAND ${name})
    get_test_property(cudaemu_${test}_test ENVIRONMENT environment)
    set_tests_properties(${name} PROPERTIES LABELS long TIMEOUT 1800
                         ENVIRONMENT "${environment}" FIXTURES_REQUIRED cudaemu_sanitized)
  endforeach()
endfunction()

# cudaemu_program_tests(<script>) adds a ctest entry cudaemu_program.<case> for each test_<case>.
function(cudaemu_program_tests script)
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  set(python ${MGPU_TEST_PYTHON})
  if(NOT EXISTS "${python}")
    set(python ${Python3_EXECUTABLE})
  endif()
  file(STRINGS ${path} lines REGEX "^class |^    def test_")
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z]+)")
      set(class ${CMAKE_MATCH_1})
    elseif(line MATCHES "def test_([a-z0-9_]+)")
      set(name cudaemu_program.${CMAKE_MATCH_1})
      add_test(NAME ${name} COMMAND ${python} -B ${path} ${class}.test_${CMAKE_MATCH_1})
      set_tests_properties(${name} PROPERTIES LABELS all TIMEOUT 300 SKIP_RETURN_CODE 77
        ENVIRONMENT "MGPU_PROGRAM=$<TARGET_FILE:mgpu_spmd>;MGPU_EMULATED=$<TARGET_FILE:mgpu_spmd_emulated>;MGPU_MPIEXEC=${MPIEXEC_EXECUTABLE}")
    endif()
  endforeach()
endfunction()
