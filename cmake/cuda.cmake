# Sets MGPU_CUDA from AUTO to ON or OFF. ON enables the CUDA language, and fills mgpu_cuda_libraries.
if(MGPU_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  find_library(MGPU_NCCL_LIBRARY nccl HINTS $ENV{CUDA_HOME}/lib $ENV{CUDA_HOME}/lib64)
  if(CMAKE_CUDA_COMPILER AND MGPU_NCCL_LIBRARY)
    set(MGPU_CUDA ON)
  else()
    set(MGPU_CUDA OFF)
    message(STATUS "mgpu: no CUDA toolkit with NCCL found: this build runs on the CPU only")
  endif()
endif()

add_library(mgpu_cuda_libraries INTERFACE)
if(MGPU_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})  # ccache also caches nvcc
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 stops at CUDA17, nvcc does not
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
  find_path(MGPU_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(MGPU_NCCL_LIBRARY nccl REQUIRED HINTS ${CUDAToolkit_LIBRARY_DIR}
               ${CUDAToolkit_LIBRARY_ROOT}/lib ${CUDAToolkit_LIBRARY_ROOT}/lib64)
  target_include_directories(mgpu_cuda_libraries SYSTEM INTERFACE ${MGPU_NCCL_INCLUDE}
                             ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(mgpu_cuda_libraries INTERFACE CUDA::cudart ${MGPU_NCCL_LIBRARY})
  message(STATUS "mgpu: CUDA ${CUDAToolkit_VERSION}, NCCL ${MGPU_NCCL_LIBRARY}, "
                 "sm_${CMAKE_CUDA_ARCHITECTURES}")
endif()
