"""The CUDA compiler that the flags choose, as a toolchain: an nvcc or an NVRTC library."""

load("//tools/bazel/private:versions.bzl", "NVCC_VERSIONS", "NVRTC_VERSIONS", "cuda_name")

CudaCompilerInfo = provider(
    doc = "One CUDA compiler.",
    fields = {
        "compiler": "File: the nvcc program or the NVRTC library.",
        "files": "depset of File: what it needs beside itself.",
        "kind": "`nvcc` or `nvrtc`.",
    },
)

def _cuda_compiler_toolchain_impl(ctx):
    info = CudaCompilerInfo(
        compiler = ctx.file.compiler,
        files = depset(ctx.files.files),
        kind = "nvcc" if ctx.file.compiler.basename == "nvcc" else "nvrtc",
    )
    return [
        platform_common.ToolchainInfo(cuda = info),
        DefaultInfo(files = info.files),
    ]

cuda_compiler_toolchain = rule(
    implementation = _cuda_compiler_toolchain_impl,
    doc = "A CUDA compiler for `cuda_cubin`.",
    attrs = {
        "compiler": attr.label(allow_single_file = True, doc = "nvcc, or the NVRTC library.", mandatory = True),
        "files": attr.label(allow_files = True, doc = "What it starts, opens and includes.", mandatory = True),
    },
)

def dj_cuda_compilers(name):
    """The toolchain `<name>` of the flags, and aliases to the NVRTC of `cuda_version`.

    `nvrtc_library` and `nvrtc_files` name the library and all of its files, for tests that compile
    in process. `cuda_version` and `cuda_compiler` of //tools/config choose.

    Args:
      name: of the toolchain's implementation.
    """
    for version in NVRTC_VERSIONS:
        native.config_setting(
            name = cuda_name("is", version),
            flag_values = {"//tools/config:cuda_version": version},
        )
    for version in NVCC_VERSIONS:
        native.config_setting(
            name = cuda_name("is_nvcc", version),
            flag_values = {
                "//tools/config:cuda_compiler": "nvcc",
                "//tools/config:cuda_version": version,
            },
        )
    native.config_setting(
        name = "is_nvrtc",
        flag_values = {"//tools/config:cuda_compiler": "nvrtc"},
    )
    for part, alias in [("compiler", "nvrtc_library"), ("files", "nvrtc_files")]:
        native.alias(
            name = alias,
            actual = select({
                cuda_name("is", version): "@%s//:%s" % (cuda_name("nvrtc", version), part)
                for version in NVRTC_VERSIONS
            }),
            visibility = ["//visibility:public"],
        )
        choices = {
            cuda_name("is_nvcc", version): "@%s//:%s" % (cuda_name("cuda", version), part)
            for version in NVCC_VERSIONS
        }
        choices["is_nvrtc"] = ":" + alias
        native.alias(
            name = "chosen_" + part,
            actual = select(
                choices,
                no_match_error = "nvcc is on the package index from CUDA %s on." % NVCC_VERSIONS[0],
            ),
        )
    cuda_compiler_toolchain(
        name = name,
        compiler = ":chosen_compiler",
        files = ":chosen_files",
    )
