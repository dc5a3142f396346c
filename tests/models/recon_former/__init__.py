"""Tests of somamba.models.recon_former."""
