"""The client for threads. All but byte_stream.py is written by write_synchronous.py from `asynchronous`."""
