"""Values as text, HTML and pictures."""
