"""Tests of the package that opens scans."""
