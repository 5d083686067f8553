"""Pipelines as files, in the protobuf format that users have: data only, nothing runs on load."""
