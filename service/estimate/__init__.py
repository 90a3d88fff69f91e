"""What a workload needs, in memory and in time: pure formulas over model shapes, card tables and fitted constants."""
