# find_package(DeepJIT): header-only targets, C++20.
#
#   DeepJIT::core     caches, keys, runtime; no device
#   DeepJIT::host     Runtime<Host>: kernels compiled by the machine's C++ compiler
#   DeepJIT::cuda     Runtime<CUDA>: needs cuda.h to build, links no CUDA library
#   DeepJIT::ascend   Runtime<Ascend>: needs acl/acl.h to build, links no CANN library
#   DeepJIT::torch    for extensions of torch: its headers, USE_CUDA, TORCH_TARGET_VERSION
#
# Set before find_package where they are not found by themselves:
#   DEEPJIT_CUDA_INCLUDE_DIR    folder of cuda.h (else CUDA_HOME, then /usr/local/cuda)
#   DEEPJIT_ACL_INCLUDE_DIR     folder of acl/acl.h (else ASCEND_HOME_PATH)
#   DEEPJIT_TORCH_INCLUDE_DIR   folder of torch/headeronly (else asked of Python3_EXECUTABLE or python3)
# A target whose headers are missing is not defined, and DeepJIT_<name>_FOUND is false.
cmake_minimum_required(VERSION 3.18)
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/DeepJITTorchTargets.cmake")
get_filename_component(DEEPJIT_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)

function(_deepjit_target name)
  set(DeepJIT_${name}_FOUND TRUE PARENT_SCOPE)
  if(TARGET DeepJIT::${name})
    return()
  endif()
  add_library(DeepJIT::${name} INTERFACE IMPORTED)
  if(NOT name STREQUAL core)
    target_link_libraries(DeepJIT::${name} INTERFACE DeepJIT::core)
  endif()
  target_include_directories(DeepJIT::${name} SYSTEM INTERFACE ${ARGN})
endfunction()

_deepjit_target(core)
target_include_directories(DeepJIT::core INTERFACE "${DEEPJIT_INCLUDE_DIR}")
target_compile_features(DeepJIT::core INTERFACE cxx_std_20)
target_link_libraries(DeepJIT::core INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
_deepjit_target(host)

find_path(DEEPJIT_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
if(DEEPJIT_CUDA_INCLUDE_DIR)
  _deepjit_target(cuda "${DEEPJIT_CUDA_INCLUDE_DIR}")
endif()

find_path(DEEPJIT_ACL_INCLUDE_DIR acl/acl.h
  HINTS ENV ASCEND_HOME_PATH ENV ASCEND_TOOLKIT_HOME PATH_SUFFIXES include)
if(DEEPJIT_ACL_INCLUDE_DIR)
  _deepjit_target(ascend "${DEEPJIT_ACL_INCLUDE_DIR}")
endif()

if(NOT DEEPJIT_TORCH_INCLUDE_DIR)
  if(NOT Python3_EXECUTABLE)
    find_program(Python3_EXECUTABLE python3)
  endif()
  set(_deepjit_ask "import importlib.util as u, os; s = u.find_spec('torch')"
    "print(os.path.join(os.path.dirname(s.origin), 'include') if s else '')")
  string(REPLACE ";" "; " _deepjit_ask "${_deepjit_ask}")
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "${_deepjit_ask}"
    OUTPUT_VARIABLE DEEPJIT_TORCH_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(EXISTS "${DEEPJIT_TORCH_INCLUDE_DIR}/torch/headeronly")
  _deepjit_target(torch "${DEEPJIT_TORCH_INCLUDE_DIR}")
  # One version for everything that is linked together: the stable ABI is forward compatible.
  target_compile_definitions(DeepJIT::torch INTERFACE
    USE_CUDA "TORCH_TARGET_VERSION=${DEEPJIT_TORCH_TARGET_VERSION_CUDA}")
endif()

foreach(_deepjit_component IN LISTS DeepJIT_FIND_COMPONENTS)
  if(DeepJIT_FIND_REQUIRED_${_deepjit_component} AND NOT DeepJIT_${_deepjit_component}_FOUND)
    set(DeepJIT_FOUND FALSE)
    set(DeepJIT_NOT_FOUND_MESSAGE
      "no headers for ${_deepjit_component}: see the variables in DeepJITConfig.cmake")
  endif()
endforeach()
