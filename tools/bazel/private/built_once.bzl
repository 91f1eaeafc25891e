"""Keeps what the version flags do not touch from being built again for each of their values."""

# Every flag that chooses what surrounds the product, with its default of //tools/config.
DEFAULTS = {
    "//tools/config:cuda_compiler": "nvrtc",
    "//tools/config:cuda_version": "13.0",
    "//tools/config:python_version": "machine",
    "//tools/config:torch_version": "2.13",
}

def _defaults_impl(_settings, _attr):
    return DEFAULTS

defaults = transition(
    implementation = _defaults_impl,
    inputs = [],
    outputs = DEFAULTS.keys(),
)

def _built_once_impl(ctx):
    return [DefaultInfo(files = depset(ctx.files.srcs), runfiles = ctx.runfiles(ctx.files.srcs))]

built_once = rule(
    implementation = _built_once_impl,
    doc = """The files of `srcs`, built for the default flags whatever the flags are.

One extension serves every torch and every Python: the cells of the matrix share this one.""",
    attrs = {
        "srcs": attr.label_list(allow_files = True, cfg = defaults, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def _built_once_tool_impl(ctx):
    tool = ctx.attr.tool[0][DefaultInfo]
    runner = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = runner, target_file = tool.files_to_run.executable, is_executable = True)
    return [DefaultInfo(executable = runner, files = depset([runner]), runfiles = tool.default_runfiles)]

built_once_tool = rule(
    implementation = _built_once_tool_impl,
    doc = "A program that actions run, built for the default flags whatever the flags are.",
    attrs = {
        "tool": attr.label(cfg = defaults, executable = True, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    executable = True,
)
