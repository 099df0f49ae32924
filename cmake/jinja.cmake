# Adds the Jinja interpreter of llama.cpp (MIT) for chat templates, from sources that launch/run.sh
# puts into .deps/. Without them the program is built, but refuses chat templates.
find_path(MGPU_JINJA_SOURCES jinja/runtime.h NO_DEFAULT_PATH
          PATHS ${MGPU_DEPS_DIR}/llama.cpp/common
          DOC "Folder `common` of llama.cpp, as in llama-cpp-python 0.3.36")
if(NOT MGPU_JINJA_SOURCES)
  set(MGPU_JINJA OFF)
  message(STATUS "mgpu: no Jinja in ${MGPU_DEPS_DIR}/llama.cpp: this build has no chat templates")
  return()
endif()

set(MGPU_JINJA ON)
# The interpreter uses only one macro of ggml.h.
set(jinja_shim ${PROJECT_BINARY_DIR}/jinja_shim)
file(CONFIGURE OUTPUT ${jinja_shim}/ggml.h
     CONTENT "#include <cstdlib>\n#define GGML_ASSERT(x) ((x) ? (void)0 : std::abort())\n")
add_library(mgpu_jinja STATIC)
foreach(file jinja/lexer jinja/parser jinja/runtime jinja/string jinja/value json unicode)
  target_sources(mgpu_jinja PRIVATE ${MGPU_JINJA_SOURCES}/${file}.cpp)
endforeach()
target_compile_options(mgpu_jinja PRIVATE -w $<$<CONFIG:Release>:-O1>)
target_include_directories(mgpu_jinja PRIVATE ${jinja_shim})
target_include_directories(mgpu_jinja SYSTEM PUBLIC ${MGPU_JINJA_SOURCES})
target_link_libraries(mgpu_jinja PRIVATE nlohmann_json::nlohmann_json)
add_library(mgpu::jinja ALIAS mgpu_jinja)
