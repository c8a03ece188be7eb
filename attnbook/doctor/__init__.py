"""`python -m attnbook doctor`: what is missing on this machine, and how to mend it.

Nothing here imports NumPy or PyTorch: whatever could be broken is tried in a process of its own
(probe.py), so that the doctor answers even when an import crashes.
"""
