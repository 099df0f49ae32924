# Compile options of tests, by the kind of their precompiled headers. A Release compiles tests with
# -O1, because -O3 takes twice as long. Tests with headers of libtorch get -O0, which takes a quarter
# less time than -O1: they leave the computing to libraries.
set(mgpu_plain_level -O1)
set(mgpu_tensor_level -O0)
set(mgpu_torch_level -O0)
foreach(kind plain tensor torch)
  add_library(mgpu_${kind}_test_options INTERFACE)
  target_compile_options(mgpu_${kind}_test_options INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:${mgpu_${kind}_level}>)
  target_link_libraries(mgpu_${kind}_test_options INTERFACE GTest::gtest GTest::gmock mgpu_warnings)
  mgpu_precompile(mgpu_${kind}_test_precompiled ${kind} LIBRARIES mgpu_${kind}_test_options
                  ALSO <gmock/gmock.h> <gtest/gtest.h>)
endforeach()
target_link_libraries(mgpu_tensor_test_precompiled PRIVATE mgpu::torch)
target_link_libraries(mgpu_torch_test_precompiled PRIVATE mgpu::torch)

# mgpu_tier(<tier> <test>...): gives entries of ctest the tier "all" or "long", which is a label.
# Without one they are quick: launch/test.sh runs them for every change, each in 10 s at most. Most
# entries of tier long compute on two ranks, so ctest counts them as two processors.
function(mgpu_tier tier)
  if(NOT tier MATCHES "^(all|long)$")
    message(FATAL_ERROR "mgpu_tier(${tier} ${ARGN}): the tiers are all and long")
  endif()
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS ${tier})
  if(tier STREQUAL "long")
    set_property(TEST ${ARGN} PROPERTY PROCESSORS 2)
  endif()
endfunction()

# The programs of the quick tests; launch/test.sh builds only these for them.
add_custom_target(quick_tests)

# mgpu_test(<name> SOURCES <file>... LIBRARIES <target>... [RANKS <n>...] [GPU] [ALONE]
#           [PRECOMPILED <kind>] [SECONDS <s>] [TIER <tier>])
#
# Adds one GoogleTest executable. Without RANKS it runs as a plain process, labelled "unit". With
# RANKS it runs once per count under mpirun, named <name>.np<n> and labelled "mpi"; entries with
# more than two ranks belong to tier all. GPU adds the label "gpu", tier all, and a lock, so that two
# GPU tests never share the card. PRECOMPILED names the headers of cmake/precompiled.cmake; the
# default is plain.
# ALONE: no other test runs meanwhile, because it measures time or memory.
# SECONDS is the deadline (default 60): a rank that left a collective would hang forever.
# TIER applies to all its entries; see mgpu_tier().
set(MGPU_TEST_ENVIRONMENT
  OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none)
function(mgpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GPU;ALONE" "PRECOMPILED;SECONDS;TIER"
                        "SOURCES;LIBRARIES;RANKS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "mgpu_test(${name}): unknown ${arg_UNPARSED_ARGUMENTS} or no SOURCES")
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 60)
  endif()
  if(arg_GPU)
    set(arg_TIER all)
  endif()

  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED plain)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} mgpu_${arg_PRECOMPILED}_test_options)
  # private headers, and what tests share
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_precompile_headers(${name} REUSE_FROM mgpu_${arg_PRECOMPILED}_test_precompiled)
  if(MGPU_UNITY AND NOT arg_GPU)
    mgpu_unite_later(${name} "${arg_PRECOMPILED};${arg_LIBRARIES}")
  endif()

  set(labels unit)
  set(names)
  if(arg_RANKS)
    set(labels mpi)
    target_link_libraries(${name} PRIVATE mgpu_mpi_main)
    foreach(n IN LISTS arg_RANKS)
      add_test(NAME ${name}.np${n}
               COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe ${MPIEXEC_NUMPROC_FLAG} ${n}
                       $<TARGET_FILE:${name}>)
      list(APPEND names ${name}.np${n})
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE mgpu_unit_main)
    add_test(NAME ${name} COMMAND ${name})
    set(names ${name})
  endif()

  if(arg_GPU)
    list(APPEND labels gpu)
    # ctest counts a GTEST_SKIP as a pass; say "Skipped" instead.
    set_tests_properties(${names} PROPERTIES RESOURCE_LOCK gpu SKIP_REGULAR_EXPRESSION "no GPU")
  endif()
  if(arg_ALONE)
    set_tests_properties(${names} PROPERTIES RUN_SERIAL TRUE)
  endif()
  if(MGPU_SANITIZE)  # programs with sanitizers take up to ten times as long
    math(EXPR arg_SECONDS "10 * ${arg_SECONDS}")
  endif()
  set_tests_properties(${names} PROPERTIES
    LABELS "${labels}" TIMEOUT ${arg_SECONDS}
    ENVIRONMENT "${MGPU_TEST_ENVIRONMENT}")
  mgpu_own_mpi_folder(${names})
  if(arg_TIER)
    mgpu_tier(${arg_TIER} ${names})
  else()
    list(FILTER names INCLUDE REGEX "[.]np([3-9]|..+)$")
    if(names)
      mgpu_tier(all ${names})
    endif()
    add_dependencies(quick_tests ${name})
  endif()
endfunction()

# mgpu_tests_apart(<test>...): MGPU_UNITY compiles these tests together, apart from others of the
# folder, which have functions or constants of the same names.
function(mgpu_tests_apart)
  set_property(TARGET ${ARGN} PROPERTY MGPU_APART "${ARGN}")
endfunction()

# mgpu_unite_later(<name> <group>): compiles the source of a test together with those of other tests
# of its folder and group, at most six in one unit. Each of their programs has the objects of the
# unit, and runs the tests of its file only (support/own_tests.hpp).
function(mgpu_unite_later name group)
  set_target_properties(${name} PROPERTIES MGPU_GROUP "${group}")
  get_property(known DIRECTORY PROPERTY MGPU_TESTS)
  if(NOT known)
    cmake_language(DEFER CALL mgpu_unite_tests)
  endif()
  set_property(DIRECTORY APPEND PROPERTY MGPU_TESTS ${name})
endfunction()

function(mgpu_unite_tests)
  get_property(tests DIRECTORY PROPERTY MGPU_TESTS)
  set(groups)
  foreach(test IN LISTS tests)
    get_target_property(sources ${test} SOURCES)
    get_target_property(apart ${test} MGPU_APART)
    get_target_property(definitions ${test} COMPILE_DEFINITIONS)
    get_target_property(group ${test} MGPU_GROUP)
    if(sources MATCHES "^[a-z_0-9]+[.]cpp$")
      string(MD5 hash "${group};${definitions};${apart}")
      list(APPEND groups ${hash})
      set(group_${hash} "${group}")
      list(APPEND united_${hash} ${test})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES groups)
  set(number 0)
  foreach(hash IN LISTS groups)
    while(united_${hash})
      list(SUBLIST united_${hash} 0 6 unit)
      list(REMOVE_ITEM united_${hash} ${unit})
      mgpu_test_unit(${number} "${group_${hash}}" ${unit})
      math(EXPR number "${number} + 1")
    endwhile()
  endforeach()
endfunction()

# mgpu_test_unit(<number> <group> <test>...): compiles the sources of the tests as one.
function(mgpu_test_unit number group)
  list(LENGTH ARGN count)
  if(count LESS 2)
    return()
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests
             OUTPUT_VARIABLE folder)
  set(text "")
  foreach(test IN LISTS ARGN)
    get_target_property(source ${test} SOURCES)
    string(APPEND text "#include \"${folder}/${source}\"\n")
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(POP_FRONT group precompiled)
  string(MAKE_C_IDENTIFIER "mgpu_${folder}_tests_${number}" unit)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${unit}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}")
  add_library(${unit} OBJECT ${file})
  list(GET ARGN 0 first)
  target_compile_definitions(${unit} PRIVATE $<TARGET_PROPERTY:${first},COMPILE_DEFINITIONS>)
  target_link_libraries(${unit} PRIVATE ${group} mgpu_${precompiled}_test_options)
  target_include_directories(${unit} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_precompile_headers(${unit} REUSE_FROM mgpu_${precompiled}_test_precompiled)
  target_compile_options(${unit} PRIVATE  # to g++, the united sources are not main files
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  foreach(test IN LISTS ARGN)
    target_link_libraries(${test} PRIVATE $<TARGET_OBJECTS:${unit}>)
    add_dependencies(${test} ${unit})
    set_target_properties(${test} PROPERTIES LINKER_LANGUAGE CXX)
  endforeach()
  mgpu_link_once(${ARGN})
endfunction()

# mgpu_link_once(<test>...): links one program for the tests of a unit that have the same libraries.
# The programs of the others are symbolic links to it, which takes no time and no space. Only Ninja
# runs a launcher in a shell, so other generators link all programs.
function(mgpu_link_once)
  if(NOT CMAKE_GENERATOR MATCHES Ninja)
    return()
  endif()
  foreach(test IN LISTS ARGN)
    get_target_property(libraries ${test} LINK_LIBRARIES)
    string(MD5 hash "${libraries}")
    if(DEFINED linked_${hash})
      add_dependencies(${test} ${linked_${hash}})
      set_target_properties(${test} PROPERTIES RULE_LAUNCH_LINK  # ":" ignores the linker's command
        "ln -sf ${linked_${hash}} '${CMAKE_CURRENT_BINARY_DIR}/${test}' && :")
    else()
      set(linked_${hash} ${test})
    endif()
  endforeach()
endfunction()

# mgpu_deadlines(<test>...): marks tests that check deadlines, but wait for most of their time. Only
# one of them runs at a time, together with other tests. The property PROCESSORS would not do: ctest
# then starts them last, because until then a single slot is free at a time.
function(mgpu_deadlines)
  set_tests_properties(${ARGN} PROPERTIES RESOURCE_LOCK deadlines)
endfunction()

# mgpu_own_mpi_folder(<test>...): gives each test its own folder for Open MPI's sessions. In a shared
# one, an mpirun that ends removes the parent folder while another mpirun starts in it.
function(mgpu_own_mpi_folder)
  foreach(test IN LISTS ARGN)
    string(MD5 hash ${test})  # keeps the paths of sockets short
    string(SUBSTRING ${hash} 0 8 hash)
    set_tests_properties(${test} PROPERTIES ENVIRONMENT_MODIFICATION
      "OMPI_MCA_orte_tmpdir_base=set:${PROJECT_BINARY_DIR}/mpi/${hash}")
  endforeach()
endfunction()

# mgpu_split(<name> <filter>): moves the cases of a test without RANKS that match the GoogleTest
# filter to an entry <name>.all of tier all. Call it after all properties of <name> are set.
function(mgpu_split name filter)
  add_test(NAME ${name}.all COMMAND ${name})
  foreach(property LABELS TIMEOUT ENVIRONMENT RUN_SERIAL RESOURCE_LOCK SKIP_REGULAR_EXPRESSION)
    get_property(value TEST ${name} PROPERTY ${property})
    if(value)
      set_property(TEST ${name}.all PROPERTY ${property} ${value})
    endif()
  endforeach()
  mgpu_tier(all ${name}.all)
  mgpu_own_mpi_folder(${name}.all)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-${filter}")
  set_property(TEST ${name}.all APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=${filter}")
  set_tests_properties(${name} ${name}.all PROPERTIES FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

# mgpu_long(<entry> COMMAND <command>... FILTER <cases> ENVIRONMENT <name=value>...): runs a
# GoogleTest program again in tier long, where ENVIRONMENT makes its cases try more. Its limit is an
# hour.
function(mgpu_long entry)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILTER" "COMMAND;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_COMMAND OR NOT arg_FILTER)
    message(FATAL_ERROR "mgpu_long(${entry}): unknown ${arg_UNPARSED_ARGUMENTS}, or too few")
  endif()
  add_test(NAME ${entry} COMMAND ${arg_COMMAND})
  set_tests_properties(${entry} PROPERTIES TIMEOUT 3600 FAIL_REGULAR_EXPRESSION "Running 0 tests"
    ENVIRONMENT "${MGPU_TEST_ENVIRONMENT};${arg_ENVIRONMENT};GTEST_FILTER=${arg_FILTER}")
  mgpu_tier(long ${entry})
endfunction()

set(MGPU_TEST_PYTHON ${MGPU_DEPS_DIR}/venv/bin/python CACHE FILEPATH
    "Python with h5py and safetensors for the tests that need them; they are skipped without it")

# mgpu_python_test(<name> <script> [LABEL <label>] [SECONDS <s>] [ENVIRONMENT <name=value>...])
#
# Adds a script that ends with 77 if a module is missing. The default label is "script".
function(mgpu_python_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LABEL;SECONDS" "ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mgpu_python_test(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL script)
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 60)
  endif()
  add_test(NAME ${name}
           COMMAND sh -c "test -x $0 || { echo no Python at $0; exit 77; }; exec $0 -B $1"
                   ${MGPU_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_SECONDS}
    SKIP_RETURN_CODE 77 ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
