"""Graph Random Neural Features."""
