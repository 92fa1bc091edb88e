# The module for GPUs, libkerbin_cuda.so (docs/gpu.md).  The library loads it at run time, so nothing
# links to it.
set(KERBIN_CUDA_SOURCES src/cuda/gpu.cu src/cuda/number.cu src/cuda/bins.cu src/cuda/slices.cu
  src/cuda/sweeps.cu
  src/cuda/products.cu src/cuda/whole.cu src/cuda/rule.cu src/cuda/module.cu)

set(KERBIN_HAS_CUDA OFF)
if(SKBUILD OR WIN32 OR APPLE OR (KERBIN_CUDA STREQUAL AUTO AND (KERBIN_SANITIZE OR KERBIN_COVERAGE
    OR KERBIN_FUZZ)) OR KERBIN_CUDA STREQUAL OFF)
  return()
endif()
find_program(KERBIN_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda/bin)
if(NOT KERBIN_NVCC)
  if(KERBIN_CUDA STREQUAL ON)
    message(FATAL_ERROR "KERBIN_CUDA is ON, but there is no nvcc")
  endif()
  return()
endif()
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${KERBIN_NVCC})
endif()
# Code for Hopper, and code that any GPU from Turing on compiles when it is loaded.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90)
endif()
enable_language(CUDA)
set(KERBIN_HAS_CUDA ON)

add_library(kerbin_cuda MODULE ${KERBIN_CUDA_SOURCES})
target_include_directories(kerbin_cuda PRIVATE src)
# As on the CPU: no fused operations.
target_compile_options(kerbin_cuda PRIVATE -fmad=false -O3
  "SHELL:-Xcompiler -fvisibility=hidden,-ffp-contract=off,-Wall")
if(KERBIN_WERROR)
  target_compile_options(kerbin_cuda PRIVATE -Werror all-warnings)
endif()
set_target_properties(kerbin_cuda PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
  CUDA_RUNTIME_LIBRARY Static)
install(TARGETS kerbin_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
