"""`@torch`: the locked torch with its headers and libtorch_cpu.so; see //tools/toolchains/torch."""

load("//tools/bazel/private:packages.bzl", "base_python", "install_packages")

_BUILD = """\
package(default_visibility = ["//visibility:public"])

# The stable ABI alone: what is outside of it cannot be included by accident.
cc_library(
    name = "headers",
    hdrs = glob([
        "site/torch/include/torch/csrc/inductor/aoti_torch/**",
        "site/torch/include/torch/csrc/stable/**",
        "site/torch/include/torch/headeronly/**",
    ]),
    includes = ["site/torch/include"],
)

alias(
    name = "libtorch_cpu.so",
    actual = "site/torch/lib/libtorch_cpu.so",
)

exports_files(["site/torch/lib/libtorch_cpu.so", "torch.txt"])
"""

def _torch_wheel_impl(rctx):
    python = base_python(rctx, rctx.attr.interpreter)
    if not python:
        fail("No %s on PATH, nor among pyenv's versions." % rctx.attr.interpreter)
    locks = rctx.attr.locks
    if rctx.attr.preferred:
        # Why not one lock for both: pip prefers the build whose hash the index tells.
        if install_packages(rctx, python.path, rctx.attr.preferred, "site", optional = True):
            locks = [rctx.attr.preferred] + locks[1:]
    for lock in locks:
        if lock != rctx.attr.preferred:
            install_packages(rctx, python.path, lock, "site")
    lib = "site/torch/lib"
    made = rctx.execute(
        [python.path, str(rctx.path(rctx.attr._stubs)), lib],
        timeout = 600,
    )
    if made.return_code != 0:
        fail("Stub libraries for a torch without NVIDIA's could not be made:\n" + made.stderr)
    listing = [python.path] + [rctx.read(lock) for lock in locks] + [made.stdout]
    rctx.file("torch.txt", "\n".join(listing))
    rctx.file("BUILD.bazel", _BUILD)

torch_wheel = repository_rule(
    implementation = _torch_wheel_impl,
    doc = "One torch wheel and the pure Python packages that importing it needs.",
    attrs = {
        "interpreter": attr.string(default = "python3", doc = "Command on PATH."),
        "locks": attr.label_list(
            allow_files = True,
            doc = "Lock files: torch itself, and what importing it needs.",
        ),
        "preferred": attr.label(
            allow_single_file = True,
            doc = "Lock file taken in the place of the first of `locks` where its wheel can be had.",
        ),
        "_stubs": attr.label(
            allow_single_file = True,
            default = "//tools/toolchains/torch:stub_libraries.py",
        ),
    },
    environ = ["PATH", "CC"],
)
