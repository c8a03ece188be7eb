"""Data sets of the course: generated from a seed, nothing is downloaded."""
