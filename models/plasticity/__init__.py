"""The second track: a small Vision Transformer that is trained throughout, and what keeps it able to learn."""
