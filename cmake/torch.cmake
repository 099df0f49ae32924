# Imports libtorch as targets defined here, because its CMake files fail without a CUDA toolkit.
# Search order: CMAKE_PREFIX_PATH, Torch_DIR, then the wheel that launch/run.sh puts into .deps/.
set(MGPU_DEPS_DIR ${PROJECT_SOURCE_DIR}/.deps CACHE PATH "Where the set-up puts the torch wheel")
if(Torch_DIR)
  get_filename_component(torch_hint ${Torch_DIR}/../../.. ABSOLUTE)
endif()
find_path(MGPU_TORCH_INCLUDE ATen/ATen.h
          HINTS ${torch_hint}/include ${MGPU_DEPS_DIR}/python/torch/include
          PATH_SUFFIXES include torch/include)
if(NOT MGPU_TORCH_INCLUDE)
  message(FATAL_ERROR "libtorch was not found: run launch/run.sh, which installs it into .deps/, "
                      "or pass -DCMAKE_PREFIX_PATH=<libtorch>")
endif()
get_filename_component(torch_root ${MGPU_TORCH_INCLUDE}/.. ABSOLUTE)

# mgpu_torch_import(<library>): makes the target torch::<library>
function(mgpu_torch_import library)
  find_library(MGPU_TORCH_${library} ${library} REQUIRED NO_DEFAULT_PATH PATHS ${torch_root}/lib)
  add_library(torch::${library} SHARED IMPORTED)
  set_target_properties(torch::${library} PROPERTIES
    IMPORTED_LOCATION ${MGPU_TORCH_${library}}
    INTERFACE_INCLUDE_DIRECTORIES
      "${torch_root}/include;${torch_root}/include/torch/csrc/api/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
      "${torch_root}/include;${torch_root}/include/torch/csrc/api/include")
endfunction()

add_library(mgpu_torch INTERFACE)
add_library(mgpu::torch ALIAS mgpu_torch)
mgpu_torch_import(c10)
mgpu_torch_import(torch_cpu)
target_link_libraries(mgpu_torch INTERFACE torch::torch_cpu torch::c10)
if(MGPU_CUDA)
  # torch_cuda registers its kernels when it is loaded, which src/tensor/cuda_half.cpp does on GPUs.
  find_library(MGPU_TORCH_torch_cuda torch_cuda REQUIRED NO_DEFAULT_PATH PATHS ${torch_root}/lib)
  mgpu_torch_import(c10_cuda)
  target_link_libraries(mgpu_torch INTERFACE torch::c10_cuda)
endif()
