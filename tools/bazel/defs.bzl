"""The only load path for the rules of this repository: re-exports, nothing else.

    load("//tools/bazel:defs.bzl", "dj_cc_library", "dj_cc_test", "dj_py_test")
"""

load(
    "//tools/bazel/private:built_once.bzl",
    _built_once = "built_once",
    _built_once_tool = "built_once_tool",
)
load(
    "//tools/bazel/private:cc.bzl",
    _dj_cc_binary = "dj_cc_binary",
    _dj_cc_library = "dj_cc_library",
    _dj_cc_test = "dj_cc_test",
)
load(
    "//tools/bazel/private:cuda_cubin.bzl",
    _cubin_matrix_test = "cubin_matrix_test",
    _cuda_cubin = "cuda_cubin",
)
load("//tools/bazel/private:cuda_toolchain.bzl", _dj_cuda_compilers = "dj_cuda_compilers")
load("//tools/bazel/private:environments.bzl", _dj_python_environments = "dj_python_environments")
load("//tools/bazel/private:jit.bzl", _jit_headers = "jit_headers")
load("//tools/bazel/private:kernel_wheel.bzl", _dj_kernel_wheel = "dj_kernel_wheel")
load("//tools/bazel/private:matrix.bzl", _dj_matrix = "dj_matrix")
load(
    "//tools/bazel/private:py.bzl",
    _dj_py_binary = "dj_py_binary",
    _dj_py_library = "dj_py_library",
    _dj_py_test = "dj_py_test",
)
load(
    "//tools/bazel/private:torch.bzl",
    _dj_extension_library = "dj_extension_library",
    _dj_torch_extension = "dj_torch_extension",
    _dj_torch_library = "dj_torch_library",
)
load("//tools/bazel/private:wheel.bzl", _dj_wheel = "dj_wheel")

built_once = _built_once
built_once_tool = _built_once_tool
cubin_matrix_test = _cubin_matrix_test
cuda_cubin = _cuda_cubin
dj_cc_binary = _dj_cc_binary
dj_cc_library = _dj_cc_library
dj_cc_test = _dj_cc_test
dj_cuda_compilers = _dj_cuda_compilers
dj_extension_library = _dj_extension_library
dj_kernel_wheel = _dj_kernel_wheel
dj_matrix = _dj_matrix
dj_py_binary = _dj_py_binary
dj_py_library = _dj_py_library
dj_py_test = _dj_py_test
dj_python_environments = _dj_python_environments
dj_torch_extension = _dj_torch_extension
dj_torch_library = _dj_torch_library
dj_wheel = _dj_wheel
jit_headers = _jit_headers
