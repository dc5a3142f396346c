"""Records of evaluations and trainings, their files, and when they may be compared. No torch."""
