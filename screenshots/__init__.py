"""Pictures of the screens, and the script that makes them."""
