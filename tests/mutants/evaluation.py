"""Mistakes in metrics, averages and the leakage diagnostic."""

from mutants.mistake import Mistake

METRICS = "evaluation/test_metrics.py"
LEAKAGE = "evaluation/test_leakage.py"

MISTAKES = (
    Mistake(
        "the peak of PSNR is one",
        "10 * math.log10(float(target.max()) ** 2 / error)",
        "10 * math.log10(1 / error)",
        METRICS,
    ),
    Mistake(
        "PSNR is half of it",
        "10 * math.log10(float(target.max()) ** 2 / error)",
        "5 * math.log10(float(target.max()) ** 2 / error)",
        METRICS,
    ),
    Mistake(
        "the data range of SSIM is one",
        "win_size=WINDOW, data_range=peak",
        "win_size=WINDOW, data_range=1.0",
        METRICS,
    ),
    Mistake("another window of SSIM", "WINDOW = 7  # scikit-image's default", "WINDOW = 11", METRICS),
    Mistake("NMSE is divided by the prediction", "/ np.sum(target**2)", "/ np.sum(prediction**2)", METRICS),
    Mistake(
        "images are not cut to the range of the protocol",
        'return merged.clamp(0, 1) if protocol == "magnitude" else merged',
        "return merged",
        "evaluation/test_evaluate.py",
    ),
    Mistake(
        "a case is its first slice",
        "means = Scores(*scores[here.start : here.stop].mean(dim=0).tolist())",
        "means = Scores(*scores[here.start].tolist())",
        "evaluation/test_evaluate.py",
    ),
    Mistake(
        "the deviation is that of a sample",
        "statistics.pstdev(values)",
        "statistics.stdev(values)",
        "results/test_scores.py",
    ),
    Mistake(
        "leakage of the inner band",
        "return squared_radius(size, radius) > cutoff**2 * (1 + TIE)",
        "return squared_radius(size, radius) <= cutoff**2 * (1 + TIE)",
        LEAKAGE,
    ),
    Mistake("the cutoff is squared once more", "> cutoff**2 * (1 + TIE)", "> cutoff**4 * (1 + TIE)", LEAKAGE),
    Mistake(
        "the corner is one side away",
        'unit = sum(half**2 for half in halves) if radius == "corner" else min(halves) ** 2',
        "unit = min(halves) ** 2",
        LEAKAGE,
    ),
    Mistake(
        "read-out leakage is measured on the state",
        "rleak = leakage([trace.readout_grid()], config.cutoffs, radius=config.radius)",
        "rleak = hleak",
        LEAKAGE,
    ),
    Mistake(
        "other cutoffs",
        "cutoffs: tuple[float, ...] = CUTOFFS",
        "cutoffs: tuple[float, ...] = (0.25, 0.3)",
        "test_defaults.py",
    ),
    Mistake(
        "the power spectrum misses mirrored columns",
        "return torch.cat([power, mirrored[..., rows, :]], dim=-1)",
        "return torch.cat([power, 0 * mirrored[..., rows, :]], dim=-1)",
        "physics/test_fourier.py evaluation/test_leakage.py",
    ),
    Mistake(
        "lanes of a head are traced with the group of the first",
        "group = head * self.B.shape[3] // self.x.shape[2]",
        "group = 0",
        "scan/test_inputs.py evaluation/test_trace.py",
    ),
    Mistake(
        "an evaluation weighs cases by their slices",
        "spread([getattr(r.scores, name) for r in results]) for name",
        "spread([getattr(r.scores, name) for r in results for _ in range(r.slices)]) for name",
        "evaluation/test_evaluate.py",
    ),
    Mistake(
        "tables weigh cases by their slices",
        "return spread([getattr(record, metric) for record in records])",
        "return spread([getattr(record, metric) for record in records for _ in range(record.slices)])",
        "report/tables/test_scores.py results/test_scores.py",
    ),
    Mistake(
        "leakage weighs cases by their slices",
        "spread([fmean(getattr(one, name) for one in case) for case in cases])",
        "spread([fmean(getattr(one, name) for one in case) for case in cases for _ in range(case[0].slices)])",
        "report/tables/test_leakage.py results/test_leakage.py",
    ),
    Mistake(
        "a difference has the other sign",
        "getattr(record, metric) - theirs[record.case]",
        "theirs[record.case] - getattr(record, metric)",
        "report/test_statistics.py",
    ),
    Mistake(
        "many comparisons count as one",
        "(len(p) - rank) * p[place]",
        "p[place]",
        "report/test_statistics.py",
    ),
    Mistake(
        "the interval is one of 90 %",
        "tail = 50 * (1 - CONFIDENCE)",
        "tail = 100 * (1 - CONFIDENCE)",
        "report/test_statistics.py",
    ),
    Mistake(
        "an FFT costs twice as much",
        "x.numel() * 2.5 * math.log2(points)",
        "x.numel() * 5 * math.log2(points)",
        "evaluation/cost/test_counted.py",
    ),
)
