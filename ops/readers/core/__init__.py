"""What all readers share: sources, loops over them, files, tables, plans of epochs."""
