// Text from a model, a provider or a server, made harmless for the eye.
//
// Two kinds of characters say one thing and do another: controls (a terminal's escape sequences begin with one), and
// the overrides and isolates of bidirectional text, which can make `evil` read as something else. They are shown by
// name, not dropped: whoever sends them should be seen. LRM and RLM stay, for right-to-left text needs them.

const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const BIDI = /[\u202a-\u202e\u2066-\u2069]/g;
const PICTURES = 0x2400; // the Unicode block in which U+2400 + n is the picture of control n

function showControl(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(PICTURES + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}

function showBidi(character) {
  return `⟨U+${character.charCodeAt(0).toString(16).toUpperCase()}⟩`;
}

/** Text that comes in pieces: it does not matter where it was cut. */
export class SafeText {
  #held = ""; // a carriage return, which is half of a line's end if a line feed follows

  feed(text) {
    const all = this.#held + text;
    this.#held = all.endsWith("\r") ? "\r" : "";
    return safeText(this.#held === "" ? all : all.slice(0, -1));
  }

  close() {
    const rest = safeText(this.#held);
    this.#held = "";
    return rest;
  }
}

export function safeText(text) {
  return String(text).replace(/\r\n?/g, "\n").replace(CONTROLS, showControl).replace(BIDI, showBidi);
}

/** One line of it, cut at `limit` characters, and the cut is shown. */
export function safeLine(text, limit = 300) {
  const line = safeText(text).replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit)} … (${(line.length - limit).toLocaleString("en")} more)`;
}

/** The address, where it is one that may be opened; else null. */
export function safeLink(address) {
  return typeof address === "string" && /^https?:\/\/[^\s]+$/i.test(address) ? address : null;
}
