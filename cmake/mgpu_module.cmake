add_library(mgpu_warnings INTERFACE)
target_compile_options(mgpu_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                            -Wundef -Wnon-virtual-dtor -Woverloaded-virtual -Werror>
  # g++ 12 sees overlaps and wrong bounds in "text" + std::string that do not exist (GCC bugs 105651
  # and, with <string> precompiled, 105329).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict -Wno-array-bounds
                                                          -Wno-stringop-overflow
                                                          -Wno-stringop-overread>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wundef,-Werror>)

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
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED plain)
  endif()
  target_precompile_headers(mgpu_${name} REUSE_FROM mgpu_${arg_PRECOMPILED}_precompiled)
  if(MGPU_UNITY)  # precompiled headers leave a second of work to each compilation
    set_target_properties(mgpu_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(mgpu_${name} PRIVATE
                           $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>>)
  endif()
endfunction()

# mgpu_compile_alone(<target> <pattern>): MGPU_UNITY does not compile these sources together.
function(mgpu_compile_alone target pattern)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${pattern})
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target}
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
