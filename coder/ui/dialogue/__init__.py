"""Line-oriented interface for screen readers."""
