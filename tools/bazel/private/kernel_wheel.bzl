"""The wheel of kernels compiled ahead: what build_kernels.py makes of a checkout without Bazel."""

def _kernel_wheel_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        executable = ctx.executable._builder,
        arguments = ["--out=" + folder.path, "--nvrtc=" + ctx.file.nvrtc.path],
        inputs = depset([ctx.file.nvrtc] + ctx.files.nvrtc_files),
        outputs = [folder],
        mnemonic = "KernelWheel",
        progress_message = "Compiling the kernels of " + str(ctx.label),
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles([folder]))]

dj_kernel_wheel = rule(
    implementation = _kernel_wheel_impl,
    doc = "A folder with one wheel in it: every kernel that the planner can pick on sm_90a. Takes " +
          "every processor, 22 minutes of them in all, and no GPU.",
    attrs = {
        "nvrtc": attr.label(
            allow_single_file = True,
            doc = "The NVRTC library to compile with.",
            mandatory = True,
        ),
        "nvrtc_files": attr.label(allow_files = True, doc = "What it opens beside itself."),
        "_builder": attr.label(
            cfg = "exec",
            default = "//tools/packaging:build_kernels",
            executable = True,
        ),
    },
)
