"""What evaluations and trainings left behind: records, their files, and when they may be compared. No torch."""
