"""The wheel, from what targets declare: the same contents as `pip wheel .` makes of a checkout."""

def _optimised_impl(settings, attr):
    mode = "opt" if attr.optimised else settings["//command_line_option:compilation_mode"]
    return {"//command_line_option:compilation_mode": mode}

_optimised = transition(
    implementation = _optimised_impl,
    inputs = ["//command_line_option:compilation_mode"],
    outputs = ["//command_line_option:compilation_mode"],
)

def _wheel_impl(ctx):
    extension = ctx.file.extension
    folder = ctx.actions.declare_directory(ctx.label.name)
    listing = ctx.actions.args()
    listing.use_param_file("--files=%s", use_always = True)
    listing.set_param_file_format("multiline")
    listing.add_all(ctx.files.srcs)
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = ["--extension=" + extension.path, "--out=" + folder.path, listing],
        inputs = depset(ctx.files.srcs + [extension]),
        outputs = [folder],
        mnemonic = "Wheel",
        progress_message = "Packing " + str(ctx.label),
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

dj_wheel = rule(
    implementation = _wheel_impl,
    doc = "A folder with one wheel in it, whose name carries the platform tag of its extension.",
    attrs = {
        "extension": attr.label(
            allow_single_file = [".so"],
            cfg = _optimised,
            doc = "The compiled extension.",
            mandatory = True,
        ),
        "optimised": attr.bool(
            default = True,
            doc = "Whether the extension is built with --compilation_mode=opt whatever is configured.",
        ),
        "srcs": attr.label_list(
            allow_files = True,
            doc = "Every other file that setup.py reads, at its place in the repository.",
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
        "_builder": attr.label(
            cfg = "exec",
            default = "//tools/packaging:build_wheel",
            executable = True,
        ),
    },
)
