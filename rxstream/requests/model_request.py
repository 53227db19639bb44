"""The request that every provider's own is made from.

It says what to ask, in one vocabulary; which provider can express what is the business of the provider's own file, and
what one cannot express is a `RequestError` before anything is sent. A value that is None or empty asks for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from rxstream.requests.content import ReasoningContent, RequestModel
from rxstream.requests.message import Message
from rxstream.requests.options import NamedTool, ReasoningOptions, ResponseFormat, Tool, ToolChoice

__all__ = ("ModelRequest",)


def _listed(stop: Any) -> Any:
    return (stop,) if isinstance(stop, str) else stop


class ModelRequest(RequestModel):
    """What to ask a model, whoever serves it.

        ModelRequest.of("Why is the sky blue?", model="gpt-5-mini", temperature=0)

    Args:
        messages: the conversation.
        model: the model's name; None takes the endpoint's.
        tools: the tools that the model may call.
        native_tools: tools in the provider's own words (those that it runs itself), sent as they are.
        tool_choice: whether the model may or must call them.
        parallel_tool_calls: whether it may call several at once; None is the provider's default.
        response_format: the form of the answer.
        max_output_tokens: the most tokens of the answer, reasoning included.
        stop: texts that end the answer; one or several.
        temperature: 0 for the likeliest answer.
        top_p: the share of likelihood that tokens are drawn from.
        top_k: how many tokens are drawn from.
        frequency_penalty: against tokens by how often they came.
        presence_penalty: against tokens that came at all.
        seed: for an answer that can be repeated, as far as the provider can.
        reasoning: how much the model is to think.
        metadata: for the provider's records.
        extra: what has no field here, by the provider's own names: it goes into the body last and wins. Objects that
            only hold settings (Gemini's `generationConfig`, Ollama's `options`) are joined, not replaced.
    """

    messages: Annotated[Sequence[Message], AfterValidator(tuple), Field(min_length=1)]
    model: str | None = None
    tools: Annotated[Sequence[Tool], AfterValidator(tuple)] = ()
    native_tools: Annotated[Sequence[dict[str, Any]], AfterValidator(tuple)] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    max_output_tokens: int | None = Field(default=None, ge=1)
    stop: Annotated[Sequence[str], AfterValidator(tuple), BeforeValidator(_listed)] = ()
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=1)
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    reasoning: ReasoningOptions | None = None
    metadata: dict[str, str] = Field(default={}, repr=False)
    extra: dict[str, Any] = Field(default={}, repr=False)

    @classmethod
    def of(cls, prompt: str, *, system: str | None = None, **settings: Any) -> Self:
        """A request of one question.

        Args:
            prompt: the question.
            system: instructions, before it.
            settings: any other field.
        """
        instructions = () if system is None else (Message.system(system),)
        return cls(messages=(*instructions, Message.user(prompt)), **settings)

    def then(self, *messages: Message) -> Self:
        """The same request with `messages` behind its own: the next turn."""
        return self.model_copy(update={"messages": (*self.messages, *messages)})

    def without_reasoning(self) -> Self:
        """The same request without the reasoning of earlier answers and without any signature.

        For a provider that takes neither, or did not make them. A message of which nothing is left goes too.
        """
        return self.model_copy(update={"messages": tuple(filter(None, map(_unsigned, self.messages)))})

    @model_validator(mode="after")
    def _check_named_tool(self) -> Self:
        choice = self.tool_choice
        if isinstance(choice, NamedTool) and not self.native_tools and choice.name not in {t.name for t in self.tools}:
            raise ValueError("tool_choice names a tool that is not among tools")
        return self


def _unsigned(message: Message) -> Message | None:
    """The message without what only its provider understands; None where nothing else was in it."""
    if isinstance(message.content, str):
        return message
    kept = tuple(
        part.model_copy(update={"signatures": {}}) if getattr(part, "signatures", None) else part
        for part in message.content
        if not isinstance(part, ReasoningContent)
    )
    return message.model_copy(update={"content": kept}) if kept else None
