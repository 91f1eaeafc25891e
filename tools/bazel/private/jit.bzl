"""Kernel headers: text that the product ships and compiles at run time."""

def jit_headers(name, hdrs, **kwargs):
    """Headers compiled at run time, shipped as data beside the package.

    Args:
      name: the target; put it in `data`.
      hdrs: the files.
      **kwargs: as for filegroup.
    """
    native.filegroup(
        name = name,
        srcs = hdrs,
        **kwargs
    )
