"""Work in processes of its own, with the data in shared memory."""
