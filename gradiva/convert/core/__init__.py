"""What the converters share: steps, the source code of a function, rules and reports."""
