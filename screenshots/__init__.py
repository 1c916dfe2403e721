"""Screenshots and the script that makes them."""
