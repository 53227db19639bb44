// The picture of the pipeline: the newest telemetry, in words, cells and figures.

import { Marbles } from "./marbles.js";
import { OUTCOMES } from "./answer.js";

const SPEED_OVER_MS = 2000;
const MAX_SAMPLES = 32;

const LINE_WORDS = {
  idle: "no connection",
  connecting: "waiting for its answer",
  open: "connected",
  closed: "connection ended",
  cut: "connection cut",
};

const $ = (id) => document.getElementById(id);

export class Picture {
  constructor() {
    this.root = $("picture");
    this.marbles = new Marbles($("marbles"));
    this.bounds = { max_events: 32, max_bytes: 32768, low_water: 16 };
    this.cells = [];
    this.origin = 0; // when the gateway's clock showed zero, on the page's
    this.isRunning = false;
    this.pieces = [];
    this.bound(this.bounds);
    $("unfold").addEventListener("click", () => this.#unfold());
  }

  bound(bounds) {
    this.bounds = bounds;
    this.cells = Array.from({ length: Math.min(bounds.max_events, 256) }, (_, index) => {
      const cell = document.createElement("i");
      if (index < bounds.low_water) cell.className = "low";
      return cell;
    });
    $("cells").replaceChildren(...this.cells);
    this.#fill(0, 0);
    this.marbles.reset(bounds.max_events, bounds.low_water);
  }

  begin() {
    this.isRunning = true;
    this.origin = performance.now();
    this.pieces = [];
    this.state = null;
    this.marbles.reset(this.bounds.max_events, this.bounds.low_water);
    for (const id of ["first", "speed", "tokens", "batches", "peak", "time"]) put(id, "–");
    this.#verdict("waiting", "calm");
  }

  /** Telemetry of the gateway. */
  show(state) {
    const now = performance.now();
    // The smallest difference seen is the one with the least delay on its way.
    this.origin = Math.min(this.origin + 2, now - state.ms);
    if (this.state === null) this.origin = now - state.ms;
    this.state = state;
    for (const [ms, kind] of state.marks) this.marbles.mark("read", this.origin + ms, kind);
    this.marbles.sample(this.origin + state.ms, state.buffered_events, state.paused);
    this.#words(state);
    this.#figures(state);
    if (this.isRunning) this.#running(state);
  }

  /** The page took one event. */
  took(kind) {
    this.marbles.mark("taken", performance.now(), kind);
  }

  asked(outstanding, isSlow) {
    put("credit", `${outstanding} asked`);
    put("reader", isSlow ? "reads slowly" : "reads at once");
  }

  end({ outcome }) {
    this.isRunning = false;
    const { title, tone } = OUTCOMES[outcome] ?? OUTCOMES.indeterminate;
    this.#verdict(title.toLowerCase(), tone);
    this.marbles.end(performance.now(), tone === "bad" ? "cross" : "bar");
    if (this.state !== null) this.#average(this.state);
  }

  draw(now) {
    return this.marbles.draw(now);
  }

  #running(state) {
    if (state.paused) this.#verdict("paused", "warn");
    else if (state.first_ms === null) this.#verdict("waiting", "calm");
    else this.#verdict("flowing", "flow");
  }

  #words(state) {
    this.root.dataset.gate = state.paused ? "shut" : "open";
    this.root.dataset.line = state.line;
    this.#fill(state.buffered_events, state.buffered_bytes);
    put("gate-state", state.paused ? "shut" : "open");
    put("gate-words", gateWords(state));
    put("paused", `paused ${state.paused_seconds.toFixed(1)} s`);
    put("line-words", LINE_WORDS[state.line] ?? state.line);
    put("unread", state.unread_bytes === null ? "" : `${size(state.unread_bytes)} unread`);
  }

  #fill(events, bytes) {
    const { max_events: most, max_bytes: mostBytes } = this.bounds;
    this.cells.forEach((cell, index) => cell.classList.toggle("full", index < events));
    $("bytes-bar").style.transform = `scaleX(${Math.min(1, bytes / mostBytes)})`;
    put("fill-events", `${events} of ${most} events`);
    put("fill-bytes", `${size(bytes)} of ${size(mostBytes)}`);
  }

  #figures(state) {
    put("first", state.first_ms === null ? "–" : seconds(state.first_ms));
    put("peak", `${state.peak_events}`);
    put("batches", state.batches === 0 ? "–" : `${state.pieces} → ${state.batches}`);
    put("tokens", state.output_tokens === null ? `≈ ${state.text_pieces}` : `${state.output_tokens}`);
    put("time", seconds(state.ms));
    this.pieces.push([state.ms, state.text_pieces]);
    if (this.pieces.length > MAX_SAMPLES) this.pieces.shift();
    const [from, before] = this.pieces.find(([ms]) => ms >= state.ms - SPEED_OVER_MS);
    if (state.ms > from) put("speed", `${rate(state.text_pieces - before, state.ms - from)}`);
  }

  /** At the end: of the whole answer, without the time in which the gate was shut. */
  #average(state) {
    const tokens = state.output_tokens ?? state.text_pieces;
    if (state.first_ms === null || state.last_ms === null || tokens < 2) return;
    const ms = state.last_ms - state.first_ms - state.paused_seconds * 1000;
    if (ms > 0) put("speed", rate(tokens - 1, ms));
  }

  #verdict(words, tone) {
    put("verdict", words);
    $("verdict").dataset.tone = tone;
  }

  #unfold() {
    const isOpen = this.root.classList.toggle("unfolded");
    $("unfold").setAttribute("aria-expanded", String(isOpen));
  }
}

/** Which shape an event has in the diagram. */
export function kindOf({ type }) {
  if (type === "text_delta" || type === "refusal_delta") return "t";
  if (type.startsWith("reasoning")) return "r";
  return type.includes("tool") ? "c" : "o";
}

function gateWords({ paused, line }) {
  if (line === "cut") return "provider: cut off";
  if (line !== "open") return line === "connecting" ? "provider: asked" : "provider: done";
  return paused ? "provider: paused" : "provider: being read";
}

function put(id, text) {
  const place = $(id);
  if (place.textContent !== text) place.textContent = text;
}

function rate(count, ms) {
  const each = (count * 1000) / ms;
  return `${each < 100 ? each.toFixed(1) : Math.round(each).toLocaleString("en")}/s`;
}

function seconds(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(bytes < 10240 ? 1 : 0)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`;
}
