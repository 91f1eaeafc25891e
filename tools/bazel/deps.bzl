"""What a WORKSPACE needs to build this repository, its own or one that embeds it.

    local_repository(name = "deepgemm", path = "...")
    load("@deepgemm//tools/bazel:deps.bzl", "deepgemm_dependencies", "deepgemm_toolchains")
    deepgemm_dependencies()
    load("@machine//:checked.bzl", "COMPILER")
    deepgemm_toolchains(COMPILER)

Repositories are fetched when a target needs them. A name that the WORKSPACE has defined before
is kept, so a larger workspace can bring its own.
"""

load("//tools/bazel/private:cuda_headers.bzl", "cuda_headers")
load("//tools/bazel/private:cuda_toolkit.bzl", "cuda_repositories")
load("//tools/bazel/private:machine.bzl", "machine_repository")
load("//tools/bazel/private:packages_repository.bzl", "python_packages")
load("//tools/bazel/private:python_environment.bzl", "python_environment")
load("//tools/bazel/private:repositories.bzl", "coverage_tools_shim", "debian_rules", "rules_cc_shim")
load("//tools/bazel/private:torch_wheel.bzl", "torch_wheel")
load("//tools/bazel/private:versions.bzl", "DEFAULT_TORCH", "MACHINE", "cells")
load("//tools/bazel/private:wheel_members.bzl", "wheel_members")

_DEBIAN_RULES = {
    "bazel_skylib": "/usr/share/bazel/tools/skylib",
    "platforms": "/usr/share/bazel/tools/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

_LOCKS = "@deepgemm//tools/toolchains/python:"
_CUDA_LOCKS = "@deepgemm//tools/toolchains/cuda:"

_ASCEND_LOCKS = "@deepgemm//tools/toolchains/ascend:"

def _torch_lock(version):
    if version == DEFAULT_TORCH:
        return "torch.lock.txt"
    return "torch_%s.lock.txt" % version.replace(".", "_")

def deepgemm_dependencies():
    """Defines every repository; fetches none."""
    existing = native.existing_rules()
    if "machine" not in existing:
        machine_repository(name = "machine")
    for name, path in _DEBIAN_RULES.items():
        if name not in existing:
            debian_rules(name = name, path = path)
    if "rules_cc" not in existing:
        rules_cc_shim(name = "rules_cc")
    if "remote_coverage_tools" not in existing:
        coverage_tools_shim(name = "remote_coverage_tools")

    for cell in cells():
        interpreter = "python3" if cell.python == MACHINE else "python" + cell.python
        if cell.torch_name:
            torch_wheel(
                name = cell.torch_name,
                interpreter = interpreter,
                locks = [_LOCKS + _torch_lock(cell.torch), _LOCKS + "torch_needs.lock.txt"],
                preferred = _LOCKS + "torch_cpu.lock.txt" if cell.torch == DEFAULT_TORCH else None,
            )
        python_environment(
            name = cell.name,
            interpreter = interpreter,
            locks = [_LOCKS + "test.lock.txt"],
            torch = "@%s//:torch.txt" % cell.torch_name if cell.torch_name else None,
        )
    python_packages(name = "lint", lock = _LOCKS + "lint.lock.txt")
    python_packages(name = "packaging", lock = _LOCKS + "packaging.lock.txt")
    cuda_headers(name = "cuda_headers", lock = _CUDA_LOCKS + "headers.lock.txt")
    cuda_repositories(_CUDA_LOCKS, existing)

    _ascend_dependencies()

def _ascend_dependencies():
    """What stands in for CANN: headers to compile against, device binaries to read."""
    wheel_members(
        name = "ascend_headers",
        lock = _ASCEND_LOCKS + "headers.lock.txt",
        members = ["torch_npu/include/acl/*"],
        strip_prefix = "torch_npu/include/",
    )
    for name, lock in {"ascend_kernels": "kernels", "ascend_kernels_large": "kernels_large"}.items():
        wheel_members(
            name = name,
            lock = _ASCEND_LOCKS + lock + ".lock.txt",
            members = ["*/kernel/ascend*/*.o", "*/kernel/ascend*/*.json"],
        )

# buildifier: disable=unused-variable
def deepgemm_toolchains(compiler):
    """Registers the Python and CUDA toolchains.

    Args:
      compiler: `COMPILER` of @machine//:checked.bzl, which proves that the machine was checked.
    """
    native.register_toolchains(
        "@deepgemm//tools/toolchains/cuda:all",
        "@deepgemm//tools/toolchains/python:all",
    )
