"""One HTTP gateway in front of many providers, in the shapes that clients know. Needs the extra `gateway`.

A request comes in the words of one API, goes to the provider in its own, and the answer streams back in the client's:
paced by the client, cut off when the client leaves, and never taken for whole when it is not. `create_app` makes the
ASGI application, `rxstream serve` runs it.
"""
