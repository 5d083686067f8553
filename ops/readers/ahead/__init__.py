"""What will be read soon: fetched from other machines, and begun to be decoded."""
