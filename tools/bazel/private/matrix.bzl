"""Runs what is built once against other versions of what surrounds it."""

_FLAGS = ["cuda_version", "python_version", "torch_version"]

def _flag(name):
    return "//tools/config:" + name

def _versions_impl(settings, attr):
    wanted = {"cuda_version": attr.cuda, "python_version": attr.python, "torch_version": attr.torch}
    return {_flag(name): wanted[name] or settings[_flag(name)] for name in _FLAGS}

_versions = transition(
    implementation = _versions_impl,
    inputs = [_flag(name) for name in _FLAGS],
    outputs = [_flag(name) for name in _FLAGS],
)

def _matrix_test_impl(ctx):
    target = ctx.attr.test[0]
    runner = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = runner, target_file = target[DefaultInfo].files_to_run.executable, is_executable = True)
    environment = {"DJ_CELL_PYTHON": ctx.attr.python, "DJ_CELL_TORCH": ctx.attr.torch}
    runfiles = target[DefaultInfo].default_runfiles
    if ctx.attr.cuda:
        # The environment of the inner test is not to be had here, so this part of it is made again.
        environment["DJ_JIT_NVRTC_LIBRARY"] = ctx.files._nvrtc_library[0].short_path
    return [
        DefaultInfo(
            executable = runner,
            files = depset([runner]),
            runfiles = runfiles,
        ),
        testing.TestEnvironment(environment),
    ]

_matrix_test = rule(
    implementation = _matrix_test_impl,
    test = True,
    attrs = {
        "cuda": attr.string(doc = "CUDA version, empty: as configured."),
        "python": attr.string(doc = "Python version, empty: as configured."),
        "test": attr.label(cfg = _versions, executable = True, mandatory = True),
        "torch": attr.string(doc = "torch version, empty: as configured."),
        "_nvrtc_library": attr.label(
            allow_files = True,
            cfg = _versions,
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
      cells: dict from suffix to dict with keys among torch, python, cuda.
      size: of each cell.
      tags: of each cell, beside `matrix`; those of `test` do not count.
    """
    for suffix, versions in cells.items():
        _matrix_test(
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
