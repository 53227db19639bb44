"""An object that can be shown while the model writes it. Run: python examples/structured_output.py"""

from __future__ import annotations

import asyncio
from typing import Literal

from pydantic import BaseModel

import rxstream as rxs
from rxstream import operators as ops
from rxstream.requests import JsonSchemaFormat
from rxstream.testing import ScriptedProvider, answer

PIECES = ['{"title":"Slow ', 'soup","effort":"ea', 'sy","steps":["Chop.",', '"Simmer."]}']


class Recipe(BaseModel):
    title: str
    effort: Literal["easy", "hard"]
    steps: list[str]


async def main() -> None:
    async with (
        ScriptedProvider(answer(*PIECES)) as provider,
        rxs.connect("openai-chat", base_url=provider.base_url) as endpoint,
    ):
        request = rxs.ModelRequest.of("A recipe.", model="any", response_format=JsonSchemaFormat.of(Recipe))
        async for item in rxs.iterate(endpoint.stream(request).pipe(ops.partial_objects(Recipe))):
            if item.object is None:
                print(f"so far  {item.value}")  # plain data; an effort is there when its word is whole
            else:
                print(f"object  {item.object.title}, {item.object.effort}, {len(item.object.steps)} steps")


if __name__ == "__main__":
    asyncio.run(main())
