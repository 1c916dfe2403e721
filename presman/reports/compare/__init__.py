"""Two windows of recordings side by side: what differs, by how much, and whether it is more than noise."""
