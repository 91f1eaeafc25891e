"""CUDA from locked wheels: `@cuda_13_0` (nvcc and its headers) and `@nvrtc_13_0` (the library).

What appears is drawn in //tools/toolchains/cuda:README.md. Fetched when a target first asks.
"""

load("//tools/bazel/private:packages.bzl", "base_python", "install_packages")
load("//tools/bazel/private:versions.bzl", "NVCC_VERSIONS", "NVRTC_VERSIONS", "cuda_name")

_TOOLKIT_BUILD = """\
package(default_visibility = ["//visibility:public"])

exports_files(["{root}/bin/nvcc"])

alias(
    name = "compiler",
    actual = "{root}/bin/nvcc",
)

# What nvcc starts and includes, beside itself.
filegroup(
    name = "files",
    srcs = glob(
        [
            "{root}/bin/**",
            "{root}/include/**",
            "{root}/nvvm/**",
        ],
        exclude = ["**/* *"],
    ),
)
"""

_NVRTC_BUILD = """\
package(default_visibility = ["//visibility:public"])

alias(
    name = "compiler",
    actual = "{library}",
)

# The library and its builtins, which must lie beside it.
filegroup(
    name = "files",
    srcs = glob(["{folder}/libnvrtc*.so.*"]),
)
"""

def _install(rctx):
    python = base_python(rctx)
    if not python:
        fail("No python3 on PATH.")
    install_packages(rctx, python.path, rctx.attr.lock, "site")

def _cuda_toolkit_impl(rctx):
    _install(rctx)
    root = "site/nvidia/cu13"

    # Releases 13.0 and 13.1 link host programs from lib64, and the wheels have lib.
    if not rctx.path(root + "/lib64").exists:
        rctx.symlink(root + "/lib", root + "/lib64")
    rctx.file("BUILD.bazel", _TOOLKIT_BUILD.format(root = root))

_cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    doc = "nvcc, its back end and the headers of one CUDA release.",
    attrs = {"lock": attr.label(allow_single_file = True, mandatory = True)},
    environ = ["PATH"],
)

def _nvrtc_library_impl(rctx):
    _install(rctx)
    for folder, library in [
        ("site/nvidia/cu13/lib", "libnvrtc.so.13"),
        ("site/nvidia/cuda_nvrtc/lib", "libnvrtc.so.12"),
    ]:
        if rctx.path(folder + "/" + library).exists:
            rctx.file("BUILD.bazel", _NVRTC_BUILD.format(folder = folder, library = folder + "/" + library))
            return
    fail("The packages of %s hold no NVRTC library." % rctx.attr.lock)

_nvrtc_library = repository_rule(
    implementation = _nvrtc_library_impl,
    doc = "NVRTC of one CUDA release: compiles kernels in process, without a toolkit.",
    attrs = {"lock": attr.label(allow_single_file = True, mandatory = True)},
    environ = ["PATH"],
)

def cuda_repositories(locks, existing):
    """Defines `@cuda_X_Y` and `@nvrtc_X_Y` for every release; fetches none.

    Args:
      locks: package of the lock files, as a label up to its colon.
      existing: names that the workspace has defined before.
    """
    for version in NVCC_VERSIONS:
        name = cuda_name("cuda", version)
        if name not in existing:
            _cuda_toolkit(name = name, lock = "%s%s.lock.txt" % (locks, name))
    for version in NVRTC_VERSIONS:
        name = cuda_name("nvrtc", version)
        if name not in existing:
            _nvrtc_library(name = name, lock = "%s%s.lock.txt" % (locks, name))
