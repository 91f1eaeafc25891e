"""What a test may ask for by name instead of by label: data and the variables that point to it.

    dj_py_test(name = "test_cuda", needs = ["cuda_headers", "nvrtc"], ...)
"""

# (data, environment) of each need.
_NEEDS = {
    # cuda.h and its kin: the variable names a file whose line is the include folder.
    "cuda_headers": (
        ["@cuda_headers//:include.txt"],
        {"DJ_TEST_CUDA_INCLUDE": "$(rootpath @cuda_headers//:include.txt)"},
    ),
    # NVRTC of --//tools/config:cuda_version, named to the CUDA back end by its usual variable.
    "nvrtc": (
        [
            "@deepgemm//tools/toolchains/cuda:nvrtc_files",
            "@deepgemm//tools/toolchains/cuda:nvrtc_library",
        ],
        {"DJ_JIT_NVRTC_LIBRARY": "$(rootpath @deepgemm//tools/toolchains/cuda:nvrtc_library)"},
    ),
    # CMake and pybind11, for the consumers that are built with them.
    "packaging": (
        ["@packaging//:site.txt"],
        {"DJ_TEST_PACKAGING": "$(rootpath @packaging//:site.txt)"},
    ),
}

def with_needs(needs, data, env):
    """Data and environment of a test, with those of its needs.

    Args:
      needs: names among cuda_headers, nvrtc, packaging.
      data: labels.
      env: variables.

    Returns:
      struct(data, env).
    """
    variables = dict(env)
    for need in needs:
        if need not in _NEEDS:
            fail("needs: given %r, which is none of %s" % (need, ", ".join(_NEEDS.keys())))
        labels, named = _NEEDS[need]
        data = data + labels
        variables.update(named)
    return struct(data = data, env = variables)
