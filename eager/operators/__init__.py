"""The declaration of operators: arguments, types, cases, roles in fused groups."""
