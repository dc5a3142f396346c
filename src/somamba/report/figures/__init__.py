"""The paper's pictures, drawn from files."""
