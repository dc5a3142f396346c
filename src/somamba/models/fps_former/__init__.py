"""FPS-Former, part by part."""
