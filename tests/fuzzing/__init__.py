"""Every parser under drawn bytes: a table of them, a test for CI, and a run under atheris."""
