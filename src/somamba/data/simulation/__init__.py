"""Turns prepared slices into undersampled measurements: masks, coils, phase, noise, augmentation, all by seed."""
