# Finds what the room `cuda` needs: the CUDA Toolkit with nvcc, cuBLASLt, cuDNN and NCCL. No GPU and no driver.
#
#   LOCKSTEP_CUDA_FOUND    all of it is there; the language CUDA is on then, and not otherwise
#   LOCKSTEP_CUDA_MISSING  else what is missing, in words
#   CUDNN_*, NCCL_*, ...   INCLUDE_DIR and LIBRARY of each
#   lockstep_nvidia        what engine/cuda is compiled and linked with
#
# PyTorch's wheels bring all of it under site-packages/nvidia, in folders of their own and without the .so links that
# linkers ask for. -DLOCKSTEP_NVIDIA_WHEELS=.../site-packages/nvidia has them searched too.
set(LOCKSTEP_CUDA_FOUND FALSE)
set(LOCKSTEP_CUDA_MISSING "")
set(LOCKSTEP_NVIDIA_WHEELS "" CACHE PATH "Folder of NVIDIA's Python wheels to search as well")
set(LOCKSTEP_CUDA_ARCHITECTURES "80-real;90-real;90-virtual" CACHE STRING
    "GPUs to build for: A100, H100 and H200, and PTX for newer ones; or native")
if(NOT LOCKSTEP_CUDA)
  return()
endif()

find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  set(LOCKSTEP_CUDA_MISSING "no CUDA Toolkit")
  return()
endif()

# The headers and the library of one package: the usual places first, then the wheels' folders for it.
macro(lockstep_find_nvidia prefix header library soname)
  set(folders ${ARGN})
  list(TRANSFORM folders PREPEND "${LOCKSTEP_NVIDIA_WHEELS}/")
  find_path(${prefix}_INCLUDE_DIR ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} ${folders} PATH_SUFFIXES include)
  find_library(${prefix}_LIBRARY NAMES ${library} ${soname} HINTS ${CUDAToolkit_LIBRARY_DIR} ${folders} PATH_SUFFIXES lib)
  mark_as_advanced(${prefix}_INCLUDE_DIR ${prefix}_LIBRARY)
  if(NOT ${prefix}_INCLUDE_DIR OR NOT ${prefix}_LIBRARY)
    list(APPEND LOCKSTEP_CUDA_MISSING "no ${prefix}")
  endif()
endmacro()

lockstep_find_nvidia(CUDNN cudnn_version.h cudnn libcudnn.so.9 cudnn)
lockstep_find_nvidia(NCCL nccl.h nccl libnccl.so.2 nccl)
# The wheels of CUDA 13 have it in cu13, those of CUDA 12 in cublas.
lockstep_find_nvidia(CUBLASLT cublasLt.h cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR}
                     cu${CUDAToolkit_VERSION_MAJOR} cublas)

# The compiler check would build for a GPU that newer toolkits do not know any more unless it is told otherwise.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${LOCKSTEP_CUDA_ARCHITECTURES})
endif()
if(NOT LOCKSTEP_CUDA_MISSING AND NOT CMAKE_CUDA_COMPILER)
  if(NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  set(ENV{CUDAARCHS} "80")   # for the trial only
  include(CheckLanguage)
  check_language(CUDA)
  unset(ENV{CUDAARCHS})
endif()
if(NOT LOCKSTEP_CUDA_MISSING AND NOT CMAKE_CUDA_COMPILER)
  set(LOCKSTEP_CUDA_MISSING "nvcc does not work with this C++ compiler")
endif()
if(LOCKSTEP_CUDA_MISSING)
  string(REPLACE ";" ", " LOCKSTEP_CUDA_MISSING "${LOCKSTEP_CUDA_MISSING}")
  return()
endif()

enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
# Static, so that programs start where there is no CUDA. The wheels have the shared one only: there they do not.
if(TARGET CUDA::cudart_static)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  set(cudart CUDA::cudart_static)
else()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  set(cudart CUDA::cudart)
endif()
set(LOCKSTEP_CUDA_FOUND TRUE)

# The runtime, and the headers of the libraries, which are loaded when they are needed (engine/cuda/libraries).
add_library(lockstep_nvidia INTERFACE)
target_link_libraries(lockstep_nvidia INTERFACE ${cudart})
target_include_directories(lockstep_nvidia SYSTEM INTERFACE ${CUDNN_INCLUDE_DIR} ${NCCL_INCLUDE_DIR} ${CUBLASLT_INCLUDE_DIR})
