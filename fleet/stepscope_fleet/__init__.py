"""Many machines: gathers the steps of recordings in a lake, and says which ranks and hosts are slow."""
