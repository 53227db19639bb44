"""One HTTP gateway in front of many providers, in the shapes that clients know. Needs the extra `gateway`.

A request comes in the words of one API, goes to the provider in its own, and the answer streams back in the client's:
paced by the client, cut off when the client leaves, and never taken for whole when it is not. `create_app` in `app`
makes the ASGI application, `rxstream serve` runs it.

    settings       config/  litellm/  default_models              what it is told
    application    app  gateway  routes  openapi                  which paths there are, and what they share
    in front       headers  security  guard  errors  refusals     what holds for every request
    a request      request_body  body_budget  body_values  readers/  prepared_request  history
    its answer     model_route  exchange  catalogue  slots  until_gone  whole_answer
    told of it     log  metrics  meter  tracing                   without a word of content
    the server     serve  idle_connections                        its sockets, and an orderly end
    beside it      page/  doctor/                                 the web page; what a proxy in front does to streams
"""
