"""Tests of somamba.models.fps_former."""
