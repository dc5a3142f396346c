"""Where and by which code something is computed: device, processes, threads, provenance."""
