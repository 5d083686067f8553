"""What scripts expect beside the functions: the classes of operators, facts about names."""
