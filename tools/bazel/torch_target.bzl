"""The torch version each extension is compiled for: the only place where these literals stand.

The stable ABI is forward compatible: a binary built for 2.10 loads in every later torch.
`setup.py` and the hygiene tests read this file too, so keep plain `NAME = "literal"` lines.
"""

# 2.10: everything the operators need; the NPU stream shim of 2.13 is looked up at run time.
TORCH_TARGET_VERSION_CUDA = "0x020a000000000000"

# 2.13: for extensions that serve NPUs alone and use torch's accelerator API by its own header. The
# back end itself finds the same shims at run time, so that one binary serves 2.10 as well.
TORCH_TARGET_VERSION_ASCEND = "0x020d000000000000"
