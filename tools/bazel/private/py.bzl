"""Python libraries, programs and tests on the locked environment `@python`.

The interpreter is the machine's python3 with the locked packages, chosen by the toolchain in
//tools/toolchains/python. `//tools/toolchains/python:environment` changes when a lock file
does, so a target that uses the packages is rerun then.
"""

load("//tools/bazel/private:needs.bzl", "with_needs")

_ENVIRONMENT = "//tools/toolchains/python:environment"

def dj_py_library(name, srcs, **kwargs):
    """A py_library; for symmetry with the rest.

    Args:
      name: the target.
      srcs: Python files.
      **kwargs: as for py_library.
    """
    native.py_library(
        name = name,
        srcs = srcs,
        srcs_version = "PY3",
        **kwargs
    )

def dj_py_binary(name, srcs, data = [], **kwargs):
    """A py_binary on the locked environment.

    Args:
      name: the target.
      srcs: Python files; `main` as for py_binary.
      data: runtime files.
      **kwargs: as for py_binary.
    """
    native.py_binary(
        name = name,
        srcs = srcs,
        data = data + [Label(_ENVIRONMENT)],
        python_version = "PY3",
        **kwargs
    )

def dj_py_test(name, srcs, data = [], args = [], size = "small", needs = [], env = {}, **kwargs):
    """Runs pytest on `srcs` through the one shared main.

    torch, pytest, hypothesis, absl-py and bazel-runfiles are importable; so is everything in
    `deps`, by its path from the repository root. `conftest.py` belongs into `data` of its
    users. A test that finds no test fails.

    Args:
      name: the target.
      srcs: the test modules.
      data: runtime files.
      args: further arguments for pytest.
      size: small (a minute) unless said.
      needs: what is fetched for the test, by name: see needs.bzl.
      env: variables.
      **kwargs: as for py_test.
    """
    with_all = with_needs(needs, data, env)
    main = Label("//tools/bazel/private:pytest_main.py")
    native.py_test(
        name = name,
        srcs = srcs + [main],
        main = main,
        args = ["$(rootpaths %s)" % src for src in srcs] + args,
        data = with_all.data + srcs + [Label(_ENVIRONMENT)],
        env = with_all.env,
        python_version = "PY3",
        size = size,
        **kwargs
    )
