# Headers that take long to parse are compiled once for many sources:
# - plain: the standard library;
# - tensor: also at::Tensor, for sources that only pass tensors on;
# - torch: all functions of libtorch, for sources that compute with tensors. Its precompiled file
#   takes one second to load, and without it a source takes five.

set(mgpu_standard_headers
    <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream>
    <functional> <iostream> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream>
    <stdexcept> <string> <string_view> <thread> <tuple> <type_traits> <utility> <variant> <vector>)
set(mgpu_plain_headers ${mgpu_standard_headers})
set(mgpu_tensor_headers ${mgpu_standard_headers} <ATen/core/Tensor.h>)
set(mgpu_torch_headers ${mgpu_standard_headers} <ATen/ATen.h>)

# mgpu_precompile(<target> <kind> LIBRARIES <library>... [ALSO <header>...])
#
# Makes a library that has nothing but the precompiled headers of a kind.
function(mgpu_precompile target kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBRARIES;ALSO")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only its precompiled headers matter.\n")
  add_library(${target} STATIC ${source})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(${target} PRIVATE ${mgpu_${kind}_headers} ${arg_ALSO})
endfunction()

mgpu_precompile(mgpu_plain_precompiled plain LIBRARIES mgpu_warnings)
mgpu_precompile(mgpu_tensor_precompiled tensor LIBRARIES mgpu_warnings mgpu::torch)
mgpu_precompile(mgpu_torch_precompiled torch LIBRARIES mgpu_warnings mgpu::torch)
