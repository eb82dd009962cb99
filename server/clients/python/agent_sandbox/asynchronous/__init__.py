"""The client for asyncio. All but byte_stream.py is also the source of `synchronous`."""
