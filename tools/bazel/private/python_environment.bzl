"""`@python`: the machine's interpreter with the locked packages, as a virtual environment.

The folder is laid out by hand (pyvenv.cfg, a link to the interpreter, site-packages), since the
venv module is a package of its own on Debian. What appears is drawn in
//tools/toolchains/python:README.md.
"""

load("//tools/bazel/private:packages.bzl", "base_python", "install_packages")

_BUILD = """\
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

# Changes when an interpreter or a lock file does.
filegroup(
    name = "environment",
    srcs = ["environment.txt"],
)

py_runtime(
    name = "runtime",
    interpreter_path = "{root}/bin/python",
    python_version = "PY3",
    stub_shebang = "#!{root}/bin/python",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)
"""

def _torch_folder(rctx, python):
    """Where torch lies: the locked repository, or the machine's own installation."""
    if rctx.attr.torch:
        return str(rctx.path(rctx.attr.torch).dirname) + "/site"
    found = rctx.execute([rctx.which("python3"), "-c", """\
import importlib.util, os
print(os.path.dirname(os.path.dirname(importlib.util.find_spec("torch").origin)))
"""])
    if found.return_code != 0:
        fail("The machine's python3 has no torch, which --config=gpu runs on: pip install torch.")
    return found.stdout.strip()

def _python_environment_impl(rctx):
    python = base_python(rctx, rctx.attr.interpreter)
    if not python:
        fail("No %s on PATH, nor among pyenv's versions." % rctx.attr.interpreter)
    site = "lib/python%s/site-packages" % python.version
    for lock in rctx.attr.locks:
        install_packages(rctx, python.path, lock, site)
    rctx.file(site + "/torch_of_this_environment.pth", _torch_folder(rctx, python) + "\n")
    rctx.file("pyvenv.cfg", """\
home = {home}
include-system-site-packages = false
version = {version}
""".format(home = python.path.rpartition("/")[0], version = python.version))
    rctx.symlink(python.path, "bin/python")
    rctx.symlink(python.path, "bin/python3")
    listing = [python.path, python.version] + [rctx.read(lock) for lock in rctx.attr.locks]
    if rctx.attr.torch:
        listing.append(rctx.read(rctx.attr.torch))
    rctx.file("environment.txt", "\n".join(listing) + "\n")
    rctx.file("BUILD.bazel", _BUILD.format(root = rctx.path(".")))

python_environment = repository_rule(
    implementation = _python_environment_impl,
    doc = "An interpreter with locked packages and a torch, ready to run tests.",
    attrs = {
        "interpreter": attr.string(default = "python3", doc = "Command on PATH."),
        "locks": attr.label_list(allow_files = True, doc = "Lock files, installed in order."),
        "torch": attr.label(
            allow_single_file = True,
            doc = "`//:torch.txt` of a torch_wheel repository; absent: the machine's own torch.",
        ),
    },
    environ = ["PATH"],
)
