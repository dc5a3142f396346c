"""Sandboxed reading of files that we did not write: HDF5, ISMRMRD, NIfTI, NumPy and BART."""
