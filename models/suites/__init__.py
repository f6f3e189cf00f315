"""Suites: what is measured, as data; runs of it, one JSON file each; tables and claims made from those files."""
