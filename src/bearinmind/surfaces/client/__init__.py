"""The client of a server: the verbs of a memory that is somewhere else."""
