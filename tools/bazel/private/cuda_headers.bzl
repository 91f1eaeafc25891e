"""`@cuda_headers`: cuda.h and its kin, to compile against; no CUDA library is linked."""

load("//tools/bazel/private:packages.bzl", "base_python", "install_packages")

def _cuda_headers_impl(rctx):
    python = base_python(rctx)
    if not python:
        fail("No python3 on PATH.")
    install_packages(rctx, python.path, rctx.attr.lock, "site")
    rctx.file("include.txt", str(rctx.path("site/nvidia/cu13/include")) + "\n")
    rctx.file("BUILD.bazel", """\
package(default_visibility = ["//visibility:public"])

exports_files(["include.txt"])

cc_library(
    name = "cuda_headers",
    hdrs = glob(["site/nvidia/cu13/include/**"]),
    includes = ["site/nvidia/cu13/include"],
)
""")

cuda_headers = repository_rule(
    implementation = _cuda_headers_impl,
    doc = "The headers of the CUDA runtime packages of one lock file.",
    attrs = {"lock": attr.label(allow_single_file = True, mandatory = True)},
    environ = ["PATH"],
)
