"""Mistakes in transforms, masks, data consistency and coil maps."""

from mutants.mistake import Mistake

MISTAKES = (
    Mistake(
        "the forward transform is not unitary",
        'fftshift(fft2(ifftshift(image, dim=YX), norm="ortho"), dim=YX)',
        "fftshift(fft2(ifftshift(image, dim=YX)), dim=YX)",
        "physics/test_fourier.py",
    ),
    Mistake(
        "the inverse transform leaves out a shift",
        'fftshift(ifft2(ifftshift(kspace, dim=YX), norm="ortho"), dim=YX)',
        'fftshift(ifft2(kspace, norm="ortho"), dim=YX)',
        "physics/test_fourier.py",
    ),
    Mistake("the centre of column masks is smaller", "CENTER_SHARE = 0.32", "CENTER_SHARE = 0.3", "test_defaults.py"),
    Mistake("another golden angle", "GOLDEN_ANGLE = 111.246117975", "GOLDEN_ANGLE = 111.25", "physics/test_masks.py"),
    Mistake("another offset at 320 columns, x8", "(320, 8): 5", "(320, 8): 4", "physics/test_masks.py"),
    Mistake(
        "the centre lies one column to the left",
        "start = (width - n_low + 1) // 2",
        "start = (width - n_low) // 2",
        "physics/test_masks.py",
    ),
    Mistake(
        "the spacing of columns ignores the centre",
        "spacing = acceleration * (n_low - width) / (n_low * acceleration - width)",
        "spacing = float(acceleration)",
        "physics/test_masks.py",
    ),
    Mistake(
        "one column fewer is drawn",
        "[: n_lines - len(center)]",
        "[: n_lines - len(center) - 1]",
        "physics/test_masks.py",
    ),
    Mistake(
        "spokes are rounded down",
        "np.floor(np.abs(values) + 0.5 + 1e-9)",
        "np.floor(np.abs(values) + 1e-9)",
        "physics/test_masks.py",
    ),
    Mistake(
        "spokes have one half only",
        "np.concatenate((-steps, steps))",
        "np.concatenate((steps, steps))",
        "physics/test_masks.py",
    ),
    Mistake(
        "the step towards the measurements has the wrong sign",
        "step = A.adjoint(y - A(x))",
        "step = A.adjoint(A(x) - y)",
        "physics/test_consistency.py",
    ),
    Mistake(
        "hard replacement goes nine tenths of the way",
        "return soften(x, y, A, 1.0)",
        "return soften(x, y, A, 0.9)",
        "physics/test_consistency.py",
    ),
    Mistake(
        "the proximal step is not pulled to the image",
        "system = NormalEquations(A, s.detach(), iterations, tolerance)",
        "system = NormalEquations(A, 0.5 * s.detach(), iterations, tolerance)",
        "physics/test_consistency.py",
    ),
    Mistake("another strength of the proximal step", "STRENGTH = 0.05", "STRENGTH = 0.5", "test_defaults.py"),
    Mistake(
        "conjugate gradients forget the direction before",
        "direction = residual + torch.where(done, 0, energy / torch.where(done, 1, previous)) * direction",
        "direction = residual",
        "physics/test_consistency.py",
    ),
    Mistake(
        "the gradient of the proximal step is that of its right side",
        "return ctx.solve(gradient), None, None",
        "return gradient, None, None",
        "physics/test_consistency.py",
    ),
    Mistake(
        "coils are merged without the conjugate",
        "merged = (maps.conj() * images)",
        "merged = (maps * images)",
        "physics/coils/test_maps.py",
    ),
    Mistake(
        "the magnitude of several coils is that of the first",
        "return torch.linalg.vector_norm(images, dim=1, keepdim=True)",
        "return images[:, :1].abs()",
        "physics/coils/test_maps.py",
    ),
    Mistake(
        "patches of maps are averaged over one axis",
        "return offsets / kernel**2",
        "return offsets / kernel",
        "physics/coils/test_maps.py",
    ),
    Mistake(
        "maps are not cropped",
        "return torch.where(eigenvalues > crop, maps, 0)",
        "return maps",
        "physics/coils/test_maps.py",
    ),
    Mistake(
        "imaginary channels come first",
        "return torch.cat((image.real, image.imag), dim=1)",
        "return torch.cat((image.imag, image.real), dim=1)",
        "physics/test_channels.py",
    ),
    Mistake("brightness is another percentile", "BRIGHT = 0.99", "BRIGHT = 0.95", "test_defaults.py"),
    Mistake(
        "the adjoint of a product has its factors in the wrong order",
        "return self.inner.adjoint(self.outer.adjoint(y))",
        "return self.outer.adjoint(self.inner.adjoint(y))",
        "physics/test_operator.py physics/test_encoding.py",
    ),
)
