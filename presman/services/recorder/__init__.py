"""The recorder: databases polled without a screen and written to a store, each in threads of its own."""
