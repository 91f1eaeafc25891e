"""The published functions, a module a family; `deep_gemm._C` gathers them under their names."""
