"""Several trainings from one grid: planned, run one after another, shown and summed up."""
