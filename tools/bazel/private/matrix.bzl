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
    return [DefaultInfo(
        executable = runner,
        files = depset([runner]),
        runfiles = target[DefaultInfo].default_runfiles,
    )]

_matrix_test = rule(
    implementation = _matrix_test_impl,
    test = True,
    attrs = {
        "cuda": attr.string(doc = "CUDA version, empty: as configured."),
        "python": attr.string(doc = "Python version, empty: as configured."),
        "test": attr.label(cfg = _versions, executable = True, mandatory = True),
        "torch": attr.string(doc = "torch version, empty: as configured."),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def dj_matrix(name, test, cells, size = "medium"):
    """One more test per cell: `test` again, with other versions of torch, Python or CUDA.

    The cells are tagged `matrix`, so that plain `//...` neither builds nor fetches them.

    Args:
      name: prefix of the targets and name of the suite of all of them.
      test: the test target.
      cells: dict from suffix to dict with keys among torch, python, cuda.
      size: of each cell.
    """
    for suffix, versions in cells.items():
        _matrix_test(
            name = "%s_%s" % (name, suffix),
            test = test,
            size = size,
            tags = ["matrix"],
            **versions
        )
    native.test_suite(
        name = name,
        tags = ["matrix"],
        tests = ["%s_%s" % (name, suffix) for suffix in cells],
    )
