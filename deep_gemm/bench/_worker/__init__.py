"""Runs apart from the package that holds it: it imports whichever deep_gemm it is given."""
