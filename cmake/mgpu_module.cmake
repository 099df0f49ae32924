add_library(mgpu_warnings INTERFACE)
target_compile_options(mgpu_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                            -Wundef -Wnon-virtual-dtor -Woverloaded-virtual -Werror>
  # g++ 12 sees overlaps and wrong bounds in "text" + std::string that do not exist (GCC bugs 105651
  # and, with <string> precompiled, 105329).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict -Wno-array-bounds
                                                          -Wno-stringop-overflow
                                                          -Wno-stringop-overread>
  # With sanitizers, it also takes values of std::variant for uninitialized.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>,$<BOOL:${MGPU_SANITIZE}>>:-Wno-maybe-uninitialized>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wundef,-Werror>)

# These modules spend their time in libraries, kernels and other modules. A Release compiles them with
# -O1, because -O3 takes 1.4 times as long.
set(mgpu_calling_modules ad app config datasets jobs lm look recipes report rewards rows run)

# mgpu_module(<name> SOURCES <file>... [USES <module or library>...] [OWN <library>...]
#             [PRECOMPILED <kind>])
#
# Makes one static library per module. USES is the module's row of the dependency order
# (src/README.md) and is public. OWN libraries are private: their headers appear only in this
# module's sources. PRECOMPILED names the headers of precompiled.cmake; the default is plain.
function(mgpu_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PRECOMPILED" "SOURCES;USES;OWN")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "mgpu_module(${name}): unknown ${arg_UNPARSED_ARGUMENTS} or no SOURCES")
  endif()
  add_library(mgpu_${name} STATIC ${arg_SOURCES})
  add_library(mgpu::${name} ALIAS mgpu_${name})
  target_include_directories(mgpu_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include
                             PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(mgpu_${name} PRIVATE MGPU_CUDA=$<BOOL:${MGPU_CUDA}>
                             MGPU_CHECKED=$<BOOL:${MGPU_CHECKED}>)
  target_link_libraries(mgpu_${name} PUBLIC ${arg_USES} PRIVATE ${arg_OWN} mgpu_warnings)
  if(name IN_LIST mgpu_calling_modules)
    target_compile_options(mgpu_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED plain)
  endif()
  target_precompile_headers(mgpu_${name} REUSE_FROM mgpu_${arg_PRECOMPILED}_precompiled)
  if(MGPU_UNITY)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL mgpu_unite mgpu_${name})")
  endif()
endfunction()

# mgpu_compile_alone(<target> <pattern>): marks the sources that match the pattern. MGPU_UNITY then
# compiles each of them alone, as it does with sources that have compile definitions.
function(mgpu_compile_alone target pattern)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
  set_property(TARGET ${target} APPEND PROPERTY MGPU_ALONE ${sources})
endfunction()

# mgpu_unite(<target>): compiles eight sources at a time as one unit, because precompiled headers
# leave a second of work to each compilation. It runs at the end of the target's directory, when all
# sources are known. Units name sources relative to src/, so that they are equal in every clone, and
# ccache finds them. CMake's UNITY_BUILD writes absolute paths.
function(mgpu_unite target)
  get_target_property(alone ${target} MGPU_ALONE)
  get_target_property(sources ${target} SOURCES)
  set(united)
  foreach(source IN LISTS sources)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    if(source MATCHES "[.]cpp$" AND NOT source IN_LIST alone AND NOT definitions)
      list(APPEND united ${source})
    endif()
  endforeach()
  set_source_files_properties(${united} PROPERTIES HEADER_FILE_ONLY ON)
  set(number 0)
  while(united)
    list(SUBLIST united 0 8 unit)
    list(REMOVE_ITEM united ${unit})
    set(text "")
    foreach(source IN LISTS unit)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src)
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}")
    target_sources(${target} PRIVATE ${file})
    math(EXPR number "${number} + 1")
  endwhile()
  target_compile_options(${target} PRIVATE  # to g++, the united sources are not main files
    $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>>)
endfunction()
