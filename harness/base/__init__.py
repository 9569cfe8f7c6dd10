"""What every room stands on; a bare Python reads it."""
