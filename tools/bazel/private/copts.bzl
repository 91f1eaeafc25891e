"""Compiler flags of every C++ target; never typed into a target itself."""

# C++20 with all warnings as errors. Hidden visibility keeps two extensions that embed the
# same headers in one process from sharing state.
DJ_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    # The root of this repository, wherever it is built from.
    "-I" + (Label("//:WORKSPACE").workspace_root or "."),
]

# What every program of ours needs from the system.
DJ_LINKOPTS = [
    "-ldl",
    "-lpthread",
]
