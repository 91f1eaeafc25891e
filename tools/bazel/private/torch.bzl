"""Libraries and extensions on torch's stable ABI."""

load("//tools/bazel/private:cc.bzl", "dj_cc_library")
load("//tools/bazel/private:copts.bzl", "DJ_COPTS", "DJ_LINKOPTS")
load("//tools/bazel:torch_target.bzl", "TORCH_TARGET_VERSION_CUDA")

_HEADERS = "@torch//:headers"
_LIBTORCH_CPU = "@torch//:libtorch_cpu.so"

# The extension has no Python in it, so the JIT core's GIL handling is compiled out.
_DEFINES = [
    "DJ_DISABLE_GIL=1",
    "TORCH_TARGET_VERSION=" + TORCH_TARGET_VERSION_CUDA,
]

def dj_extension_library(name, **kwargs):
    """A dj_cc_library that goes into an extension, with the defines of all of its parts.

    Args:
      name: the target.
      **kwargs: as for dj_cc_library.
    """
    dj_cc_library(
        name = name,
        local_defines = _DEFINES,
        **kwargs
    )

def dj_torch_library(name, deps = [], **kwargs):
    """A dj_extension_library that sees torch's stable headers, at the version the binary targets.

    Args:
      name: the target.
      deps: as for cc_library.
      **kwargs: as for dj_cc_library; `alwayslink = True` where a source registers operators.
    """
    dj_extension_library(
        name = name,
        deps = deps + [_HEADERS],
        **kwargs
    )

def dj_torch_extension(name, srcs = [], deps = [], **kwargs):
    """A shared library that torch loads: one binary for every torch >= the target version.

    Its NEEDED entries are libtorch_cpu.so and the C and C++ run times. The library is given to
    the linker as a file, not as a cc_import, which would leave a RUNPATH into Bazel's folders.

    Args:
      name: the file, `<something>.abi3.so`.
      srcs: sources, if any beside the libraries.
      deps: libraries, linked whole where they say alwayslink.
      **kwargs: as for cc_binary.
    """
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = DJ_COPTS,
        local_defines = _DEFINES,
        linkshared = True,
        linkstatic = True,
        deps = deps + [_HEADERS],
        additional_linker_inputs = [_LIBTORCH_CPU],
        linkopts = DJ_LINKOPTS + [
            "-Wl,--no-as-needed",
            "$(location %s)" % _LIBTORCH_CPU,
            "-Wl,--as-needed",
        ],
        **kwargs
    )
