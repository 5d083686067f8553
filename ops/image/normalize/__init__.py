"""Values shifted and scaled, by given or measured statistics."""
