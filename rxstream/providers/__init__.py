"""Frames to events, and requests to what is sent: one group of files for each wire API.

A wire is found by name in `registry`, and its files are imported at first use. `<wire>` decodes its stream, `_body` an
answer that was not streamed, and `_request` writes requests, with the conversation in `_messages`, `_input` or
`_contents`; what else begins with a wire's name is a part of its decoder, and `_plain` its short way for plain text.
Behind `bedrock_invoke` are the wires of others, in `bedrock_completions` those that are nothing but text.

What all of them stand on:

    what a decoder is    decoder  payloads  fields  extras  part_tracker  text_template  content_parts  cumulative
    calls in pieces      tool_assembly  call_table  indexed_calls
    one vocabulary       finish  usage  http_errors  error_tables
    requests             provider_request  conversation  sealed_reasoning  features
    who serves what      registry  dialects  service  services  chat_services
"""
