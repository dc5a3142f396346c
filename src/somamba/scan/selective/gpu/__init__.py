"""The selective scan as Triton kernels: chunks in parallel, on any CUDA device; in Triton's interpreter on a CPU."""
