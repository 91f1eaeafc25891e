"""The Python environment that the flags choose, as a dependency and as a toolchain."""

load("//tools/bazel/private:versions.bzl", "cells")

def dj_python_environments(name):
    """Two aliases, `<name>` and `<name>_runtime_pair`, to the repository of the chosen versions.

    Args:
      name: of the alias to the file that changes with the environment.
    """
    environments = {}
    runtimes = {}
    for cell in cells():
        if cell.is_default:
            continue
        setting = "is_" + cell.name
        native.config_setting(
            name = setting,
            flag_values = {
                "//tools/config:python_version": cell.python,
                "//tools/config:torch_version": cell.torch,
            },
        )
        environments[setting] = "@%s//:environment" % cell.name
        runtimes[setting] = "@%s//:runtime_pair" % cell.name
    environments["//conditions:default"] = "@python//:environment"
    runtimes["//conditions:default"] = "@python//:runtime_pair"
    native.alias(
        name = name,
        actual = select(environments),
        visibility = ["//visibility:public"],
    )
    native.alias(
        name = name + "_runtime_pair",
        actual = select(runtimes),
    )
