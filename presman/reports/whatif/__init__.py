"""What-if: the observed parallel statements once more, through the simulator's scheduler, under other limits."""
