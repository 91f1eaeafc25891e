"""Some files out of a locked wheel, for any host: the wheel itself is not installed.

`@ascend_headers` and `@ascend_kernels*` are drawn in //tools/toolchains/ascend:README.md.
"""

load("//tools/bazel/private:packages.bzl", "base_python")

_EXTRACT = """\
import fnmatch, sys, zipfile
from pathlib import Path
folder, strip, patterns = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
for wheel in sorted(Path("wheels").iterdir()):
    with zipfile.ZipFile(wheel) as members:
        for name in sorted(members.namelist()):
            if not name.endswith("/") and any(fnmatch.fnmatch(name, one) for one in patterns):
                target = folder / name.removeprefix(strip)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(members.read(name))
"""

_BUILD = """\
package(default_visibility = ["//visibility:public"])

# First line: the folder of the files.
exports_files(["include.txt"])

filegroup(
    name = "files",
    srcs = glob(["files/**"]),
)

cc_library(
    name = "{name}",
    hdrs = glob(["files/**/*.h"]),
    includes = ["files"],
)
"""

def _wheel_members_impl(rctx):
    python = base_python(rctx)
    if not python:
        fail("No python3 on PATH.")
    command = [python.path, "-m", "pip", "download", "--quiet", "--no-deps"]

    # Why a fixed platform: what is taken is the same for every host, and one hash says it all.
    command += ["--only-binary=:all:", "--require-hashes", "--python-version", "3.11"]
    for platform in rctx.attr.platforms:
        command += ["--platform", platform]
    command += ["--dest", "wheels", "--requirement", str(rctx.path(rctx.attr.lock))]
    result = rctx.execute(
        command,
        environment = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"},
        timeout = 3600,
    )
    if result.return_code != 0:
        fail("pip could not download the locked wheel of %s:\n%s" % (rctx.attr.lock, result.stderr))
    result = rctx.execute([python.path, "-c", _EXTRACT, "files", rctx.attr.strip_prefix] + rctx.attr.members)
    if result.return_code != 0:
        fail("The wheel of %s could not be read:\n%s" % (rctx.attr.lock, result.stderr))
    rctx.delete("wheels")
    rctx.file("include.txt", str(rctx.path("files")) + "\n" + rctx.read(rctx.attr.lock))
    rctx.file("BUILD.bazel", _BUILD.format(name = rctx.name))

wheel_members = repository_rule(
    implementation = _wheel_members_impl,
    doc = "The files of one locked wheel whose names match, under files/.",
    attrs = {
        "lock": attr.label(allow_single_file = True, mandatory = True),
        "members": attr.string_list(doc = "Patterns of names in the wheel.", mandatory = True),
        "platforms": attr.string_list(
            default = ["manylinux_2_28_x86_64", "manylinux_2_34_x86_64"],
            doc = "Tags of the wheel that the lock names.",
        ),
        "strip_prefix": attr.string(doc = "Taken off the front of the names."),
    },
    environ = ["PATH"],
)
