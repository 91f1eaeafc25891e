"""`@machine`: what the machine itself must bring, checked by name before anything is built."""

DEBIAN_HINT = "run ./tools/bazelw, which installs it, or `apt-get install bazel-bootstrap`."

_BAZEL = "4.2.3"
_PYTHON = (3, 10)
_COMPILERS = {"gcc": 11, "clang": 14}

def _check_bazel():
    # Debian's build says "4.2.3- (@non-git)".
    version = native.bazel_version.split("-")[0].strip()
    if version and version != _BAZEL:
        fail("This repository is built with Bazel %s, not %s: %s" % (_BAZEL, version, DEBIAN_HINT))

def _check_python(rctx):
    python = rctx.which("python3")
    if not python:
        fail("No python3 on PATH: install Python %d.%d or later (Debian: apt-get install python3)." % _PYTHON)
    version = rctx.execute([python, "-c", "import sys; print(*sys.version_info[:2], end=\"\")"]).stdout.split(" ")
    if len(version) != 2 or (int(version[0]), int(version[1])) < _PYTHON:
        fail("%s is Python %s, and %d.%d or later is needed." % (python, ".".join(version), _PYTHON[0], _PYTHON[1]))

def _check_compiler(rctx):
    wanted = rctx.os.environ.get("CC", "gcc")
    compiler = rctx.which(wanted) if "/" not in wanted else wanted
    if not compiler:
        fail("No C++ compiler: %s is not on PATH (Debian: apt-get install g++)." % wanted)
    macros = rctx.execute([compiler, "-dM", "-E", "-x", "c++", "/dev/null"])
    values = {}
    for line in macros.stdout.splitlines():
        words = line.split(" ")
        if len(words) == 3:
            values[words[1]] = words[2]
    family = "clang" if "__clang_major__" in values else "gcc"
    major = values.get("__clang_major__", values.get("__GNUC__", "0"))
    if macros.return_code != 0:
        fail("%s cannot compile C++ (Debian: apt-get install g++)." % compiler)
    if int(major) < _COMPILERS[family]:
        fail("%s is %s %s, and C++20 needs gcc %d or clang %d at least." %
             (compiler, family, major, _COMPILERS["gcc"], _COMPILERS["clang"]))
    return family + " " + major

def _machine_impl(rctx):
    _check_python(rctx)
    compiler = _check_compiler(rctx)
    rctx.file("BUILD.bazel", "")
    rctx.file("checked.bzl", """\
\"\"\"Loaded by WORKSPACE, so that the checks run first.\"\"\"

COMPILER = "%s"
""" % compiler)

_machine = repository_rule(
    implementation = _machine_impl,
    doc = "Fails, saying what to install, where python3 or a C++20 compiler is missing.",
    environ = ["CC", "PATH"],
    local = True,
)

def machine_repository(name):
    """Checks Bazel now, and python3 and the compiler when `@machine//:checked.bzl` is loaded.

    Args:
      name: of the repository.
    """
    _check_bazel()
    _machine(name = name)
