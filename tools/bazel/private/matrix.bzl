"""Runs what is built once against other versions of what surrounds it."""

load("//tools/bazel/private:built_once.bzl", "defaults")

_CUDA = "//tools/config:cuda_version"
_PYTHON = "//tools/config:python_version"
_TORCH = "//tools/config:torch_version"

def _versions_impl(settings, attr):
    return {_PYTHON: attr.python or settings[_PYTHON], _TORCH: attr.torch or settings[_TORCH]}

_versions = transition(
    implementation = _versions_impl,
    inputs = [_PYTHON, _TORCH],
    outputs = [_PYTHON, _TORCH],
)

def _cuda_version_impl(_settings, attr):
    return {_CUDA: attr.cuda}

_cuda_version = transition(
    implementation = _cuda_version_impl,
    inputs = [],
    outputs = [_CUDA],
)

def _run(ctx, target, environment, files):
    runner = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = runner, target_file = target[DefaultInfo].files_to_run.executable, is_executable = True)
    return [
        DefaultInfo(
            executable = runner,
            files = depset([runner]),
            runfiles = target[DefaultInfo].default_runfiles.merge(ctx.runfiles(files)),
        ),
        # The environment of the inner test is not to be had here; it gets this one instead.
        testing.TestEnvironment(environment),
    ]

def _python_cell_impl(ctx):
    return _run(ctx, ctx.attr.test[0], {
        "DJ_CELL_PYTHON": ctx.attr.python,
        "DJ_CELL_TORCH": ctx.attr.torch,
        "DJ_JIT_NVRTC_LIBRARY": ctx.files._nvrtc_library[0].short_path,
    }, ctx.files._nvrtc_library + ctx.files._nvrtc_files)

_python_cell_test = rule(
    implementation = _python_cell_impl,
    test = True,
    attrs = {
        "python": attr.string(doc = "Python version, empty: as configured."),
        "test": attr.label(cfg = _versions, executable = True, mandatory = True),
        "torch": attr.string(doc = "torch version, empty: as configured."),
        "_nvrtc_files": attr.label(default = "//tools/toolchains/cuda:nvrtc_files"),
        "_nvrtc_library": attr.label(allow_files = True, default = "//tools/toolchains/cuda:nvrtc_library"),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def _cuda_cell_impl(ctx):
    return _run(ctx, ctx.attr.test[0], {
        "DJ_JIT_NVRTC_LIBRARY": ctx.files._nvrtc_library[0].short_path,
    }, ctx.files._nvrtc_library + ctx.files._nvrtc_files)

# The test itself is the same program in every cell; only the compiler that it finds differs.
_cuda_cell_test = rule(
    implementation = _cuda_cell_impl,
    test = True,
    attrs = {
        "cuda": attr.string(doc = "CUDA version.", mandatory = True),
        "test": attr.label(cfg = defaults, executable = True, mandatory = True),
        "_nvrtc_files": attr.label(cfg = _cuda_version, default = "//tools/toolchains/cuda:nvrtc_files"),
        "_nvrtc_library": attr.label(
            allow_files = True,
            cfg = _cuda_version,
            default = "//tools/toolchains/cuda:nvrtc_library",
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def dj_matrix(name, test, cells, size = "medium", tags = []):
    """One more test per cell: `test` again, with other versions of torch, Python or CUDA.

    The cells are tagged `matrix`, so that plain `//...` neither builds nor fetches them.

    Args:
      name: prefix of the targets and name of the suite of all of them.
      test: the test target.
      cells: dict from suffix to {"cuda": version}, or to a dict with torch, python or both.
      size: of each cell.
      tags: of each cell, beside `matrix`; those of `test` do not count.
    """
    for suffix, versions in cells.items():
        cell = _cuda_cell_test if "cuda" in versions else _python_cell_test
        cell(
            name = "%s_%s" % (name, suffix),
            test = test,
            size = size,
            tags = tags + ["matrix"],
            **versions
        )
    native.test_suite(
        name = name,
        tags = ["matrix"],
        tests = ["%s_%s" % (name, suffix) for suffix in cells],
    )
