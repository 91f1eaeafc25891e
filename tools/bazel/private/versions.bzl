"""The versions that the flags of //tools/config choose among, and the repositories they name."""

TORCH_VERSIONS = ["2.10", "2.11", "2.12", "2.13", "2.14", "2.15"]
PYTHON_VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]

# 12.8 is the oldest NVRTC that the CUDA back end takes; nvcc is on the index from 13.0 on.
NVRTC_VERSIONS = ["12.8", "12.9", "13.0", "13.1", "13.2", "13.3", "13.4", "13.5"]
NVCC_VERSIONS = ["13.0", "13.1", "13.2", "13.3", "13.4", "13.5"]

# `machine`: python3 of PATH, and its own torch.
MACHINE = "machine"
DEFAULT_TORCH = "2.13"

def _name(version):
    return version.replace(".", "_")

def cuda_name(kind, version):
    """Name of the repository of a CUDA compiler.

    Args:
      kind: `cuda` (nvcc and its headers) or `nvrtc`.
      version: as the flag spells it.

    Returns:
      For example `nvrtc_13_0`.
    """
    return "%s_%s" % (kind, _name(version))

def cells():
    """Every (python, torch) that the flags can say.

    Returns:
      A list of structs: python and torch as the flags spell them, name of the environment,
      torch_name of the torch repository (None for the machine's), is_default.
    """
    found = []
    for python in [MACHINE] + PYTHON_VERSIONS:
        for torch in [MACHINE] + TORCH_VERSIONS:
            is_default = python == MACHINE and torch == DEFAULT_TORCH
            suffix = "_%s_torch_%s" % (_name(python), _name(torch))
            found.append(struct(
                python = python,
                torch = torch,
                is_default = is_default,
                name = "python" if is_default else "python" + suffix,
                torch_name = None if torch == MACHINE else ("torch" if is_default else "torch_for" + suffix),
            ))
    return found
