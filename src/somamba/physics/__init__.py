"""The measurement y = A x: Fourier transform, sampling, coils, data consistency."""
