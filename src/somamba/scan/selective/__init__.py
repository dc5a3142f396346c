"""The selective recurrence of Mamba-1, its backends, and the orders in which it walks a grid."""
