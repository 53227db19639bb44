// One answer: the events of a stream, shown. Events are taken in when they come and painted once a frame.

import { StreamingMarkdown, copyText } from "./markdown.js";
import { SafeText, safeLine, safeLink } from "./safe_text.js";

export const MAX_SHOWN = 2_000_000; // characters of an answer that a page shows
const MAX_NOTES = 64; // calls, sources and notices that it lists

export const OUTCOMES = {
  completed: { title: "Finished", tone: "good", sentence: "The answer is whole." },
  incomplete: { title: "Cut short by the model", tone: "warn", sentence: "The model ended early; this is not all." },
  failed: { title: "Failed", tone: "bad", sentence: "What stands above is only a part." },
  cancelled: { title: "Stopped", tone: "calm", sentence: "You stopped it; what stands above is a part." },
  indeterminate: {
    title: "Ended without its end",
    tone: "bad",
    sentence: "The line was lost before the model said that it was done. What stands above is only a part.",
  },
};

export class Answer {
  /** @param {HTMLElement} article an empty article; the answer fills it */
  constructor(article, name) {
    this.article = article;
    this.text = ""; // what goes back to the model with the next question
    this.shown = 0;
    this.notes = 0;
    this.part = null;
    this.partKey = null;
    this.reason = ""; // why the model stopped
    this.calls = new Map();
    article.setAttribute("aria-busy", "true");
    this.title = article.appendChild(element("h2", "who", safeLine(name, 80)));
    this.body = article.appendChild(element("div", "body"));
    this.waiting = this.body.appendChild(element("p", "waiting", "waiting for the first token"));
  }

  /** Take one event in. Returns false where the page has shown as much as it can. */
  take(event) {
    HANDLERS[event.type]?.(this, event);
    return this.shown < MAX_SHOWN;
  }

  paint() {
    return this.part?.paint() ?? false;
  }

  end({ outcome, error }) {
    this.#close();
    this.waiting?.remove();
    this.article.removeAttribute("aria-busy");
    const said = OUTCOMES[outcome] ?? OUTCOMES.indeterminate;
    const foot = element("footer", `outcome ${said.tone}`);
    foot.append(element("strong", "", said.title), element("span", "", outcomeSentence(said, outcome, error, this.reason)));
    if (this.text !== "") foot.append(this.#copyButton());
    this.article.append(foot);
    this.article.dataset.outcome = outcome;
  }

  #copyButton() {
    const copy = element("button", "quiet", "Copy answer");
    copy.type = "button";
    copy.addEventListener("click", () => copyText(copy, this.text));
    return copy;
  }

  say(kind, event) {
    if ((event.choice ?? 0) !== 0 || event.text === "") return;
    const key = `${kind}\u0000${event.part_id ?? ""}`;
    if (key !== this.partKey) this.#open(kind, key);
    this.shown += event.text.length;
    this.part.write(event.text);
    if (kind === "text") this.text += event.text;
  }

  note(className, label, text) {
    this.#close();
    this.notes += 1;
    if (this.notes > MAX_NOTES) return null;
    const line = element("p", `note ${className}`);
    line.append(element("b", "", label), element("span", "", text));
    return this.#add(line);
  }

  #open(kind, key) {
    this.#close();
    this.partKey = key;
    if (kind === "text") this.part = new StreamingMarkdown(this.#add(element("div", "markdown")));
    else if (kind === "reasoning") this.part = new PlainPart(this.#add(reasoningBox()).querySelector(".plain"));
    else this.part = new PlainPart(this.#add(element("div", "refusal plain")));
  }

  #close() {
    this.part?.end();
    this.part = null;
    this.partKey = null;
  }

  #add(node) {
    this.waiting?.remove();
    this.waiting = null;
    if (node instanceof HTMLElement) node.dir = "auto";
    return this.body.appendChild(node);
  }
}

/** Text without format, in segments that a browser lays out one by one. */
class PlainPart {
  constructor(root) {
    this.root = root;
    this.safe = new SafeText();
    this.waiting = "";
    this.size = Infinity;
  }

  write(text) {
    this.waiting += this.safe.feed(text);
  }

  paint() {
    if (this.waiting === "") return false;
    if (this.size > 8192) {
      this.last = this.root.appendChild(document.createElement("span"));
      this.size = 0;
    }
    this.last.append(this.waiting);
    this.size += this.waiting.length;
    this.waiting = "";
    return false;
  }

  end() {
    this.waiting += this.safe.close();
    this.paint();
  }
}

function outcomeSentence(said, outcome, error, reason) {
  if (outcome === "cancelled" && error?.message) return sentence(error.message);
  if (error?.message) return `${sentence(error.message)} ${said.sentence}`;
  if (outcome === "incomplete" && reason) return `${said.sentence} (${safeLine(reason, 40)})`;
  return said.sentence;
}

function sentence(text) {
  const line = safeLine(text, 400);
  return `${line.charAt(0).toUpperCase()}${line.slice(1)}${/[.!?]$/.test(line) ? "" : "."}`;
}

function reasoningBox() {
  const box = element("details", "reasoning");
  box.append(element("summary", "", "Reasoning"), element("div", "plain"));
  return box;
}

function callLine(answer, event, state) {
  let call = answer.calls.get(event.call_id);
  if (call === undefined) {
    const line = answer.note("call", "tool", "");
    call = { name: event.name ?? "", args: 0, text: line?.lastElementChild };
    if (answer.calls.size < MAX_NOTES) answer.calls.set(event.call_id, call);
  }
  if (event.name) call.name = event.name;
  if (call.text) call.text.textContent = `${safeLine(call.name, 80)} ${state(call)}`;
}

function annotation(answer, { data, kind }) {
  const found = data?.url_citation ?? data;
  const address = safeLink(found?.url ?? found?.uri ?? found?.web?.uri);
  const line = answer.note("source", "source", address === null ? safeLine(kind, 80) : "");
  if (address === null || line === null) return;
  const link = element("a", "", safeLine(found.title || address, 120));
  link.href = address;
  link.rel = "noopener noreferrer nofollow";
  link.target = "_blank";
  line.lastElementChild.append(link);
}

const HANDLERS = {
  response_start: (answer, { model }) => model && (answer.title.textContent = safeLine(model, 80)),
  text_delta: (answer, event) => answer.say("text", event),
  reasoning_delta: (answer, event) => answer.say("reasoning", event),
  refusal_delta: (answer, event) => answer.say("refusal", event),
  tool_call_start: (answer, event) => callLine(answer, event, () => "…"),
  tool_call_delta: (answer, event) =>
    callLine(answer, event, (call) => `… ${(call.args += event.arguments.length)} characters of arguments`),
  tool_call: (answer, event) => callLine(answer, event, () => safeLine(event.arguments || "{}")),
  tool_call_invalid: (answer, event) => callLine(answer, event, () => `not a complete call (${safeLine(event.reason)})`),
  tool_result: (answer, event) => answer.note("call", "result", `${safeLine(event.name, 80)}: ${event.outcome}`),
  server_tool_call: (answer, event) => callLine(answer, event, () => "run by the provider"),
  server_tool_result: (answer, event) => callLine(answer, event, () => "run by the provider, done"),
  finish: (answer, { finish_reason: reason }) => (answer.reason = reason),
  annotation,
  media_delta: (answer, event) => {
    if (!answer.calls.has(event.part_id)) {
      answer.calls.set(event.part_id, {});
      answer.note("media", "media", `${safeLine(event.media_type, 80)}, which this page does not play`);
    }
  },
  violation: (answer, event) => answer.note("violation", "notice", safeLine(event.message)),
};

export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}
