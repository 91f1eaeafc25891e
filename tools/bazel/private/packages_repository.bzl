"""Locked Python packages as a folder of files, for tools that are run rather than imported."""

load("//tools/bazel/private:packages.bzl", "base_python", "install_packages")

def _python_packages_impl(rctx):
    python = base_python(rctx)
    if not python:
        fail("No python3 on PATH.")
    install_packages(rctx, python.path, rctx.attr.lock, "site")
    rctx.file("site.txt", str(rctx.path("site")) + "\n" + rctx.read(rctx.attr.lock))
    rctx.file("BUILD.bazel", """\
package(default_visibility = ["//visibility:public"])

# First line: the folder that holds the packages and their bin/.
exports_files(["site.txt"])
""")

python_packages = repository_rule(
    implementation = _python_packages_impl,
    doc = "Packages of one lock file under site/; `site.txt` names the folder.",
    attrs = {"lock": attr.label(allow_single_file = True, mandatory = True)},
    environ = ["PATH"],
)
