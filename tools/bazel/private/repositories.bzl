"""Repository rules that stand in for what Bazel would download."""

load("//tools/bazel/private:machine.bzl", "DEBIAN_HINT")

def _debian_rules_impl(rctx):
    folder = rctx.path(rctx.attr.path)
    if not folder.exists:
        fail("%s is missing, which Debian's bazel-bootstrap brings: %s" % (rctx.attr.path, DEBIAN_HINT))
    for child in folder.readdir():
        rctx.symlink(child, child.basename)

debian_rules = repository_rule(
    implementation = _debian_rules_impl,
    doc = "A rule folder that Debian's bazel-bootstrap installs, under its usual repository name.",
    attrs = {"path": attr.string(mandatory = True)},
    local = True,
)

def _rules_cc_impl(rctx):
    rctx.file("WORKSPACE", "workspace(name = \"rules_cc\")\n")
    rctx.file("BUILD.bazel", "")
    rctx.file(
        "cc/BUILD.bazel",
        "toolchain_type(name = \"toolchain_type\", visibility = [\"//visibility:public\"])\n",
    )
    rctx.file("cc/action_names.bzl", "ACTION_NAMES = struct()\n")
    rctx.template("cc/defs.bzl", Label("//tools/third_party/shims:rules_cc/defs.bzl.shim"))

rules_cc_shim = repository_rule(
    implementation = _rules_cc_impl,
    doc = "The load path of rules_cc over Bazel's built-in rules.",
)

def _coverage_tools_impl(rctx):
    rctx.file("WORKSPACE", "workspace(name = \"remote_coverage_tools\")\n")
    rctx.file("noop.sh", "#!/bin/sh\nexit 0\n", executable = True)
    rctx.file("BUILD.bazel", """\
package(default_visibility = ["//visibility:public"])

sh_binary(
    name = "coverage_report_generator",
    srcs = ["noop.sh"],
)

filegroup(
    name = "coverage_output_generator",
    srcs = ["noop.sh"],
)
""")

coverage_tools_shim = repository_rule(
    implementation = _coverage_tools_impl,
    doc = "An empty coverage tool: Bazel asks for one by name in every test.",
)
