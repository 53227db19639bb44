// The page: a conversation on the left, and the pipeline it flows through beside it.

import { Answer, MAX_SHOWN, OUTCOMES, element } from "./answer.js";
import { Line } from "./line.js";
import { Picture, kindOf } from "./picture.js";
import { safeLine, safeText } from "./safe_text.js";
import { fillModels, modelName } from "./models.js";

const MAX_TURNS = 60; // questions and answers on the page
const MAX_SENT = 40; // messages that go with a question
const MAX_SENT_CHARACTERS = 200_000; // in all; the gateway takes 1 MiB, and a character may be six bytes of JSON
const MAX_QUESTION = 100_000; // characters
const TOKEN_KEY = "rxstream.token";
const HIDDEN_FRAME_MS = 120; // a hidden tab has no frames, and must not pause its provider for that
const NEAR_END = 80; // pixels

const $ = (id) => document.getElementById(id);
const transcript = $("transcript");
const question = $("question");
const picture = new Picture();

let messages = []; // the conversation, as it goes to the model
let answer = null; // the one that is being written
let isAsking = false; // from the question until the gateway has it
let fresh = 0; // events taken in since the last paint
let frame = null;
let follows = true;
let wasPaused = false;

const line = new Line({ ready, needToken, event: takeEvent, pipeline: takePipeline, notice, end: finish, lost });

// The line ----------------------------------------------------------------------------------------------------------

function ready(hello) {
  showLine("ready", "connected");
  fillModels(hello);
  picture.bound(hello.queue);
}

function showLine(state, words) {
  $("line-state").dataset.state = state;
  $("line-state").textContent = words;
}

function needToken(problem) {
  sessionStorage.removeItem(TOKEN_KEY);
  $("token-problem").textContent = safeLine(problem);
  if (!$("token-dialog").open) $("token-dialog").showModal();
  $("token").focus();
}

$("token-form").addEventListener("submit", () => {
  const token = $("token").value.trim();
  $("token").value = "";
  sessionStorage.setItem(TOKEN_KEY, token);
  line.enter(token);
});

function lost(sentence, wasRunning) {
  showLine("lost", safeLine(sentence));
  if (wasRunning) finish({ outcome: "indeterminate", error: { message: sentence } });
}

// One answer --------------------------------------------------------------------------------------------------------

async function ask(text) {
  if (isAsking || answer !== null) return;
  const asked = text.trim().slice(0, MAX_QUESTION);
  if (asked === "") return;
  question.value = "";
  fit();
  isAsking = true;
  answer = new Answer(begin(asked), $("model").selectedOptions[0]?.textContent ?? "");
  messages = bounded([...messages, { role: "user", content: asked }]);
  picture.begin();
  let model = "";
  try {
    model = modelName(await line.ready());
  } catch (problem) {
    finish({ outcome: "failed", error: { message: problem.message } });
    return;
  } finally {
    isAsking = false;
  }
  setRunning(true);
  announce("The answer is being written.");
  line.ask(model, messages);
  again();
}

/** The newest messages that fit into one message to the gateway. */
function bounded(all) {
  let room = MAX_SENT_CHARACTERS;
  const kept = all.slice(-MAX_SENT).reverse().filter(({ content }) => (room -= content.length) > 0);
  return kept.reverse();
}

function begin(asked) {
  $("empty")?.remove();
  const turn = element("article", "turn you");
  const said = element("div", "said", safeText(asked));
  said.dir = "auto";
  turn.append(element("h2", "who", "You"), said);
  const article = element("article", "turn answer");
  transcript.append(turn, article);
  while (transcript.childElementCount > MAX_TURNS) transcript.firstElementChild.remove();
  follows = true;
  scroll();
  return article;
}

function takeEvent(event) {
  fresh += 1;
  picture.took(kindOf(event));
  if (answer !== null && !answer.take(event)) line.stop();
  again();
}

function takePipeline(state) {
  picture.show(state);
  if (state.paused && !wasPaused) announce("The queue is full: the provider is paused.");
  wasPaused = state.paused;
  again();
}

function finish(end) {
  if (answer === null) return;
  const done = answer;
  answer = null;
  const isLong = done.shown >= MAX_SHOWN && end.outcome === "cancelled";
  const told = isLong ? { ...end, error: { message: `The page shows ${MAX_SHOWN.toLocaleString("en")} characters of an answer, and stopped it there.` } } : end;
  done.end(told);
  if (end.outcome === "completed" || end.outcome === "incomplete") {
    messages = [...messages, { role: "assistant", content: done.text }];
  } else if (messages.at(-1)?.role === "user") {
    // A part must not pass for an answer, also with the model: the next question goes without this one.
    messages = messages.slice(0, -1);
  }
  picture.end(end);
  setRunning(false);
  wasPaused = false;
  const words = done.text.trim() === "" ? 0 : done.text.trim().split(/\s+/).length;
  announce(`${(OUTCOMES[end.outcome] ?? OUTCOMES.indeterminate).title}. ${words} words.`);
  scroll();
  again();
}

function setRunning(isRunning) {
  const hadFocus = document.activeElement === $("send") || document.activeElement === $("stop");
  $("send").hidden = isRunning;
  $("stop").hidden = !isRunning;
  $("cut").setAttribute("aria-disabled", String(!isRunning));
  if (hadFocus) question.focus();
}

function notice(sentence) {
  answer?.note("violation", "notice", safeLine(sentence));
  announce(safeLine(sentence));
}

function announce(sentence) {
  $("announce").textContent = sentence;
}

// Frames ------------------------------------------------------------------------------------------------------------

function again() {
  if (frame !== null) return;
  frame = document.hidden ? { timer: setTimeout(paint, HIDDEN_FRAME_MS) } : { raf: requestAnimationFrame(paint) };
}

function paint() {
  frame = null;
  const more = answer?.paint() ?? false;
  // What was shown is asked for anew: a page that cannot keep up asks for less, and the provider waits.
  line.shown(more ? 0 : fresh);
  if (!more) fresh = 0;
  picture.asked(line.outstanding, line.isSlow);
  const moves = picture.draw(performance.now());
  if (answer !== null) scroll();
  if (more || moves || answer !== null) again();
}

document.addEventListener("visibilitychange", () => {
  if (frame === null) return;
  cancelAnimationFrame(frame.raf);
  clearTimeout(frame.timer);
  frame = null;
  again();
});

function scroll() {
  if (follows) transcript.scrollTop = transcript.scrollHeight;
  $("latest").hidden = follows;
}

transcript.addEventListener("scroll", () => {
  follows = transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight < NEAR_END;
  $("latest").hidden = follows;
});

$("latest").addEventListener("click", () => {
  follows = true;
  scroll();
  question.focus();
});

// What a person does ------------------------------------------------------------------------------------------------

function fit() {
  if (CSS.supports("field-sizing", "content")) return;
  question.style.height = "auto";
  question.style.height = `${question.scrollHeight}px`;
}

question.addEventListener("input", fit);
question.addEventListener("keydown", (pressed) => {
  if (pressed.key === "Enter" && !pressed.shiftKey && !pressed.isComposing) {
    pressed.preventDefault();
    ask(question.value);
  }
});
$("composer").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  ask(question.value);
});
document.addEventListener("keydown", (pressed) => {
  if (pressed.key === "Escape" && line.isRunning) line.stop();
});
$("stop").addEventListener("click", () => line.stop());
$("cut").addEventListener("click", () => line.cut());
$("slow").addEventListener("click", () => {
  const isSlow = $("slow").getAttribute("aria-pressed") !== "true";
  $("slow").setAttribute("aria-pressed", String(isSlow));
  line.slow(isSlow);
  picture.asked(line.outstanding, isSlow);
  announce(isSlow ? "The page reads slowly now." : "The page reads at once now.");
});
$("clear").addEventListener("click", () => location.reload());
for (const example of document.querySelectorAll("#examples button")) {
  example.addEventListener("click", () => ask(example.textContent));
}

// Begin -------------------------------------------------------------------------------------------------------------

question.focus({ preventScroll: true });
const needsToken = document.documentElement.dataset.token === "needed";
const known = sessionStorage.getItem(TOKEN_KEY);
if (needsToken && known === null) {
  showLine("idle", "needs a token");
  needToken("");
} else {
  line.enter(needsToken ? known : null);
}
