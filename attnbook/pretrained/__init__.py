"""The two pretrained models: where their files are, and whether they are the right ones."""
