"""C++ libraries and tests with the flags of the house."""

load("//tools/bazel/private:copts.bzl", "DJ_COPTS", "DJ_LINKOPTS")
load("//tools/bazel/private:needs.bzl", "with_needs")

def dj_cc_library(name, hdrs = [], srcs = [], copts = [], strip_include_prefix = None, **kwargs):
    """A cc_library with the flags of the house.

    Headers under `include/` are included by what follows it: `include/deep_jit/a.hpp` is
    `<deep_jit/a.hpp>`. The prefix is stripped by a virtual include folder rather than by
    `includes`, which would turn our headers into system headers and silence their warnings. All
    other headers are included by their path from the root: `<deep_gemm/csrc/plan/rules.hpp>`.

    Args:
      name: the target.
      hdrs: public headers.
      srcs: sources and private headers.
      copts: flags beyond the house's; the tree itself never needs any.
      strip_include_prefix: for headers that live elsewhere than under `include/`.
      **kwargs: as for cc_library.
    """
    if strip_include_prefix == None and hdrs and all([h.startswith("include/") for h in hdrs]):
        strip_include_prefix = "include"
    native.cc_library(
        name = name,
        hdrs = hdrs,
        srcs = srcs,
        copts = DJ_COPTS + copts,
        linkopts = DJ_LINKOPTS,
        strip_include_prefix = strip_include_prefix,
        **kwargs
    )

def dj_cc_binary(name, srcs, copts = [], **kwargs):
    """A cc_binary with the flags of the house, for programs and libraries that tests load.

    Args:
      name: the target.
      srcs: sources.
      copts: flags beyond the house's.
      **kwargs: as for cc_binary (`linkshared`, `local_defines`, `deps`, ...).
    """
    native.cc_binary(
        name = name,
        srcs = srcs,
        copts = DJ_COPTS + copts,
        linkopts = DJ_LINKOPTS,
        **kwargs
    )

def dj_cc_test(name, srcs, size = "small", copts = [], needs = [], data = [], env = {}, **kwargs):
    """A cc_test with the flags of the house; linked statically, so it starts fast.

    Args:
      name: the target.
      srcs: sources.
      size: small (a minute) unless said.
      copts: flags beyond the house's.
      needs: what is fetched for the test, by name: see needs.bzl.
      data: runtime files.
      env: variables.
      **kwargs: as for cc_test (`tags`, `deps`, ...).
    """
    with_all = with_needs(needs, data, env)
    native.cc_test(
        name = name,
        srcs = srcs,
        size = size,
        copts = DJ_COPTS + copts,
        linkopts = DJ_LINKOPTS,
        linkstatic = True,
        data = with_all.data,
        env = with_all.env,
        **kwargs
    )
