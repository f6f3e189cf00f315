"""The command line's own pieces: one file a command, each with main(options) -> exit code."""
