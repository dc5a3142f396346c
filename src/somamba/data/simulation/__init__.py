"""From a prepared slice to an undersampled measurement: masks, coils, phase, noise and augmentation, all by seed."""
