"""What happened and why: state at any point, from the stream alone."""
