"""Kernels compiled at build time, with their registers, spills and shared memory checked.

The action runs the product's own CUDA back end, so a cubin is what a run-time compile would give.
"""

_TOOLCHAIN = "//tools/toolchains/cuda:toolchain_type"

CubinInfo = provider(
    doc = "A compiled kernel.",
    fields = {
        "cubin": "File.",
        "report": "File: one line a kernel, columns as in `HEADER`.",
    },
)

def _cuda_cubin_impl(ctx):
    cuda = ctx.toolchains[_TOOLCHAIN].cuda
    cubin = ctx.actions.declare_file(ctx.label.name + ".cubin")
    report = ctx.actions.declare_file(ctx.label.name + ".resources.txt")
    arguments = ctx.actions.args()
    arguments.add(cuda.kind)
    arguments.add(cuda.compiler)
    arguments.add(ctx.file.src)
    arguments.add(ctx.attr.arch)
    arguments.add(cubin)
    arguments.add(report)
    arguments.add(ctx.attr.max_registers)
    arguments.add(ctx.attr.max_spill_bytes)
    arguments.add(ctx.attr.max_static_smem_bytes)
    root = ctx.label.workspace_root + "/" if ctx.label.workspace_root else ""
    arguments.add_all([root + folder for folder in ctx.attr.include_dirs])
    ctx.actions.run(
        executable = ctx.executable._compile,
        arguments = [arguments],
        inputs = depset([ctx.file.src] + ctx.files.hdrs, transitive = [cuda.files]),
        outputs = [cubin, report],
        mnemonic = "CudaCubin",
        progress_message = "Compiling %s for sm_%s with %s" % (ctx.label, ctx.attr.arch, cuda.compiler.short_path),
        # nvcc asks PATH for a host compiler; NVRTC needs nothing.
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    return [
        DefaultInfo(files = depset([cubin, report]), runfiles = ctx.runfiles([cubin, report])),
        CubinInfo(cubin = cubin, report = report),
    ]

cuda_cubin = rule(
    implementation = _cuda_cubin_impl,
    doc = """Compiles one kernel source with the compiler of //tools/config's flags.

    cuda_cubin(
        name = "sm90_fp8_gemm",
        src = "sm90_fp8_gemm.cu",
        hdrs = ["//deep_gemm/include:kernel_sources"],
        include_dirs = ["deep_gemm/include"],
        arch = "90a",
        max_registers = 168,
    )

Fails, with the compiler's whole log, where a kernel needs more than the rule allows.""",
    attrs = {
        "arch": attr.string(doc = "Target: `90a`, `100f`, ...", mandatory = True),
        "hdrs": attr.label_list(allow_files = True, doc = "What the source includes."),
        "include_dirs": attr.string_list(doc = "Include folders, from the root of the repository."),
        "max_registers": attr.int(default = 255, doc = "Most registers a thread."),
        "max_spill_bytes": attr.int(doc = "Most bytes of spill stores and loads."),
        "max_static_smem_bytes": attr.int(default = 49152, doc = "Most static shared memory a block."),
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
        "_compile": attr.label(
            cfg = "exec",
            default = "//tools/toolchains/cuda:cubin_compiler",
            executable = True,
        ),
    },
    # Else the compiler would be the default flags' one whatever the flags say.
    incompatible_use_toolchain_transition = True,
    toolchains = [_TOOLCHAIN],
)

# The columns of a report.
HEADER = "compiler         arch  kernel                          registers  stack  spills  smem  cubin"

def _cells_impl(_settings, attr):
    found = {}
    for cell in attr.cells:
        compiler, _, version = cell.partition(" ")
        found[cell] = {
            "//tools/config:cuda_compiler": compiler,
            "//tools/config:cuda_version": version,
        }
    return found

_cells = transition(
    implementation = _cells_impl,
    inputs = [],
    outputs = ["//tools/config:cuda_compiler", "//tools/config:cuda_version"],
)

def _cubin_matrix_test_impl(ctx):
    reports = []

    # Copies, since the files of all cells have one path in the runfiles. By value: where one cell
    # is all and changes no flag, its key is not its name.
    for cubins in ctx.split_attr.cubins.values():
        for cubin in cubins:
            copy = ctx.actions.declare_file("%s.%d.txt" % (ctx.label.name, len(reports)))
            ctx.actions.symlink(output = copy, target_file = cubin[CubinInfo].report)
            reports.append(copy)
    runner = ctx.actions.declare_file(ctx.label.name)
    lines = ["#!/bin/sh", "set -eu", "echo '%s'" % HEADER]
    lines += ["cat '%s'" % report.short_path for report in reports]
    ctx.actions.write(runner, "\n".join(lines) + "\n", is_executable = True)
    return [DefaultInfo(executable = runner, runfiles = ctx.runfiles(reports))]

cubin_matrix_test = rule(
    implementation = _cubin_matrix_test_impl,
    test = True,
    doc = """Builds the same cubins under several compilers, and prints what each used.

Building is the test: every cell compiles and stays inside the limits of its cuda_cubin. The table
is in the log: --test_output=all.""",
    attrs = {
        "cells": attr.string_list(doc = "`nvrtc 12.8`, `nvcc 13.5`, ...", mandatory = True),
        "cubins": attr.label_list(cfg = _cells, mandatory = True, providers = [CubinInfo]),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
