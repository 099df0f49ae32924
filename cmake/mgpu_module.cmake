add_library(mgpu_warnings INTERFACE)
target_compile_options(mgpu_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                            -Wundef -Wnon-virtual-dtor -Woverloaded-virtual -Werror>
  # g++ 12 at -O3 sees an overlap in "text" + std::string that does not exist (GCC bug 105651).
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wundef,-Werror>)

# mgpu_module(<name> SOURCES <file>... [USES <module or library>...] [OWN <library>...])
#
# Makes one static library per module. USES is the module's row of the dependency order
# (src/README.md) and is public. OWN libraries are private: their headers appear only in this
# module's sources.
function(mgpu_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;USES;OWN")
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
endfunction()
