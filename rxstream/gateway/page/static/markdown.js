// Markdown that arrives in pieces. A finished block is rendered once and never touched again; only the tail, the last
// block, is rendered anew, once a frame. The tail is bounded: a block that grows past MAX_BLOCK goes on as plain text,
// and code between fences is appended line by line. So the whole costs what its length costs, whatever the text is.
//
// HTML in the text is text. What marked makes goes through dompurify each time, as if it were not.

import { Marked, Lexer, Parser } from "./vendor/marked/marked.esm.js";
import DOMPurify from "./vendor/dompurify/purify.es.mjs";
import { SafeText } from "./safe_text.js";

const MAX_BLOCK = 8 * 1024; // characters; a hostile block costs marked the square of its length, or worse
const STEP = 4 * 1024; // so many characters join the tail before it is looked at
const SPLIT_LIST = 2 * 1024; // a list longer than this gives its finished items away
const SEGMENT = 8 * 1024; // plain text and code are put into elements of this size, so that layout stays linear
const BLOCKS = 64; // in one stretch of the page, for the same reason
const PER_PAINT = 64 * 1024; // characters taken in by one paint
const SLOW_BLOCK_MS = 120; // a tail that costs this much goes on as plain text

const OPEN_FENCE = /^( {0,3})(`{3,}|~{3,})([^\n]*)\n/;
const LANGUAGE = /^language-[\w+#.-]{1,30}$/;

const SANITIZE = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "start", "align", "class"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ADD_URI_SAFE_ATTR: ["start", "align"], // what they hold is no address
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  }
  if (node.hasAttribute?.("class") && !LANGUAGE.test(node.getAttribute("class"))) node.removeAttribute("class");
});

const markdown = new Marked({ gfm: true, async: false });
markdown.use({
  tokenizer: {
    html: () => undefined, // a tag is text; only a line break is one
    tag(source) {
      const found = /^<br\s*\/?>/i.exec(source);
      return found ? { type: "br", raw: found[0] } : undefined;
    },
  },
  renderer: {
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6); // the page has the first two levels
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    image({ href, text }) {
      // Nothing is loaded that an answer names: whoever is asked for a picture learns who reads it.
      return this.link({ href, title: null, tokens: [{ type: "text", raw: "", text: `image: ${text || href}` }] });
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

/** Markdown in `root`, which it fills: `write` takes text in, `paint` shows it, `end` shows the rest. */
export class StreamingMarkdown {
  constructor(root) {
    this.root = root;
    this.links = Object.create(null); // definitions so far: [name]: address
    this.safe = new SafeText();
    this.waiting = ""; // taken in, not painted
    this.tail = ""; // the source of the block that may still change
    this.tailNodes = [];
    this.append = null; // in code or plain text: takes what follows
  }

  write(text) {
    this.waiting += this.safe.feed(text);
  }

  /** Show what was written, up to a bound. Returns whether more waits. */
  paint() {
    if (this.waiting.length === 0) return false;
    const end = cutAt(this.waiting, PER_PAINT);
    const piece = this.waiting.slice(0, end);
    this.waiting = this.waiting.slice(end);
    this.#take(piece);
    return this.waiting.length > 0;
  }

  end() {
    this.waiting += this.safe.close();
    while (this.paint());
    this.append?.("", true);
    this.append = null;
    this.tailNodes.forEach(finish);
    this.tailNodes = [];
    this.tail = "";
  }

  #take(text) {
    let rest = text;
    while (rest !== "") {
      if (this.append === null) {
        const end = cutAt(rest, STEP);
        this.tail += rest.slice(0, end);
        rest = this.#blocks() + rest.slice(end);
      } else {
        rest = this.append(rest, false);
        if (rest !== null) this.append = null;
        rest ??= "";
      }
    }
  }

  /** Render the tail; its finished blocks stay. Returns what must be taken in by what follows a block. */
  #blocks() {
    const fence = this.#atFence();
    if (fence !== null) return this.#openCode(fence);
    const started = performance.now();
    const tokens = this.#lex();
    if (tokens === null) return this.#allPlain();
    const code = tokens.findIndex((token) => token.type === "code" && token.codeBlockStyle !== "indented");
    if (code > 0) {
      this.#commit(tokens.slice(0, code), tokens.slice(code)); // it then stands at the beginning of the tail
      return this.#again();
    }
    const last = tokens.findLastIndex((token) => token.type !== "space");
    if (last > 0) {
      this.#commit(tokens.slice(0, last), tokens.slice(last));
      return this.#again();
    }
    if (last === 0 && tokens[0].type === "list" && this.tail.length > SPLIT_LIST && this.#splitList(tokens[0])) {
      return this.#again();
    }
    if (this.tail.length > MAX_BLOCK) return this.#openPlain(this.tail.slice(MAX_BLOCK));
    this.#show(tokens);
    return performance.now() - started > SLOW_BLOCK_MS ? this.#openPlain("") : "";
  }

  #again() {
    const rest = this.tail;
    this.tail = "";
    return rest;
  }

  #lex() {
    try {
      const lexer = new Lexer(markdown.defaults);
      Object.assign(lexer.tokens.links, this.links);
      return lexer.lex(this.tail);
    } catch {
      return null; // nested too deep
    }
  }

  #commit(finished, rest) {
    for (const token of finished) {
      if (token.type === "def") this.links[token.tag] ??= { href: token.href, title: token.title };
    }
    this.#show(finished);
    this.tailNodes.forEach(finish);
    this.tailNodes = [];
    this.tail = rest.map((token) => token.raw).join("");
  }

  /** All items but the last become a list of their own; the last goes on with its own number. */
  #splitList(list) {
    const items = list.items.slice(0, -1);
    if (items.length === 0) return false;
    const rest = this.tail.slice(items.reduce((sum, item) => sum + item.raw.length, 0));
    if (!/^ {0,3}(?:[*+-]|\d{1,9}[.)])\s/.test(rest)) return false;
    this.#commit([{ ...list, items }], [{ raw: rest }]);
    return true;
  }

  #show(tokens) {
    const nodes = [];
    try {
      const html = Parser.parse(tokens, markdown.defaults);
      const fragment = DOMPurify.sanitize(html, SANITIZE);
      nodes.push(...fragment.children); // between them are lines' ends, which nobody sees
    } catch {
      nodes.push(plainBlock(tokens.map((token) => token.raw).join("")));
    }
    this.tailNodes.forEach((node) => node.remove());
    this.tailNodes = nodes;
    this.#place(nodes);
  }

  #place(nodes) {
    for (const node of nodes) {
      let stretch = this.root.lastElementChild;
      if (stretch === null || stretch.childElementCount >= BLOCKS) {
        stretch = document.createElement("div");
        stretch.className = "stretch";
        this.root.append(stretch);
      }
      stretch.append(node);
    }
  }

  // Code between fences ---------------------------------------------------------------------------------------------

  #atFence() {
    const found = OPEN_FENCE.exec(this.tail);
    return found && !(found[2][0] === "`" && found[3].includes("`")) ? found : null;
  }

  #openCode([opening, indent, fence, info]) {
    const rest = this.tail.slice(opening.length);
    this.tail = "";
    this.tailNodes.forEach((node) => node.remove());
    this.tailNodes = [];
    const block = codeBlock(info.trim().split(/\s/, 1)[0] ?? "");
    this.#place([block.frame]);
    this.append = codeReader(block, indent.length, fence);
    return rest === "" ? "" : this.#through(rest);
  }

  #through(rest) {
    const after = this.append(rest, false);
    if (after === null) return "";
    this.append = null;
    return after;
  }

  // Text that is not formatted --------------------------------------------------------------------------------------

  /** What is shown of the tail, up to `rest`, stays; `rest` and what follows is plain, up to the next empty line. */
  #openPlain(rest) {
    if (rest !== "") {
      this.tail = this.tail.slice(0, this.tail.length - rest.length);
      const tokens = this.#lex();
      if (tokens === null) return this.#allPlain(rest);
      this.#show(tokens);
    }
    this.tailNodes.forEach(finish);
    return this.#plain(rest);
  }

  #allPlain(rest = "") {
    this.tailNodes.forEach((node) => node.remove());
    return this.#plain(this.tail + rest);
  }

  #plain(text) {
    this.tailNodes = [];
    this.tail = "";
    const plain = document.createElement("div");
    plain.className = "plain";
    this.#place([plain]);
    this.append = plainReader(plain);
    return text === "" ? "" : this.#through(text);
  }
}

// A reader takes text in and returns null, or, once its block has ended, what follows the block.

function plainReader(root) {
  const put = segments(root, "div");
  let endsLine = false;
  return (text) => {
    const joined = (endsLine ? "\n" : "") + text;
    const end = /\n[ \t]*\n/.exec(joined);
    if (end !== null) {
      put(joined.slice(endsLine ? 1 : 0, end.index));
      return joined.slice(end.index + end[0].length);
    }
    endsLine = text === "" ? endsLine : text.endsWith("\n");
    put(text);
    return null;
  };
}

function codeReader(block, indent, fence) {
  const put = segments(block.code, "span");
  const closing = new RegExp(`^ {0,3}${fence[0] === "`" ? "`" : "~"}{${fence.length},}[ \\t]*$`);
  const mayClose = /^ {0,3}(?:`*|~*)[ \t]*$/;
  let line = ""; // of the line that has not ended: what is not shown yet
  let shown = 0; // and how much of it is shown
  let isFirst = true;
  const strip = (text) => (indent === 0 ? text : text.replace(new RegExp(`^ {0,${indent}}`), ""));
  const show = (text) => {
    put((isFirst || shown > 0 ? "" : "\n") + (shown > 0 ? text : strip(text)));
    isFirst = false;
    shown += text.length;
  };
  return (text, isEnd) => {
    let start = 0;
    for (let end; (end = text.indexOf("\n", start)) !== -1; start = end + 1) {
      line += text.slice(start, end);
      if (shown === 0 && closing.test(line)) {
        block.close();
        return text.slice(end + 1);
      }
      show(line);
      line = "";
      shown = 0;
      isFirst = false;
    }
    line += text.slice(start);
    if (isEnd && shown === 0 && closing.test(line)) line = "";
    if (line !== "" && (shown > 0 || isEnd || !mayClose.test(line))) {
      show(line);
      line = "";
    }
    if (isEnd) block.close();
    return null;
  };
}

/** Append text to `root` in elements of bounded size: a browser lays out anew only the last one. */
function segments(root, tag) {
  let last = null;
  let size = SEGMENT;
  return (text) => {
    for (let start = 0; start < text.length; ) {
      if (size >= SEGMENT) {
        last = document.createElement(tag);
        root.append(last);
        size = 0;
      }
      const end = cutAt(text, start + SEGMENT - size);
      last.append(text.slice(start, end));
      size += end - start;
      start = end;
    }
  };
}

/** Where to cut: at `index` or, where that is inside a character of two units, behind it. */
function cutAt(text, index) {
  if (index >= text.length) return text.length;
  return (text.charCodeAt(index - 1) & 0xfc00) === 0xd800 ? index + 1 : index;
}

function plainBlock(text) {
  const block = document.createElement("div");
  block.className = "plain";
  segments(block, "div")(text);
  return block;
}

function codeBlock(language) {
  const frame = document.createElement("div");
  frame.className = "code";
  const pre = document.createElement("pre");
  const code = document.createElement("code");
  pre.append(code);
  frame.append(pre);
  return { frame, code, close: () => dress(frame, pre, language) };
}

/** What a finished block gets that one still growing has no use for. */
function finish(node) {
  if (!(node instanceof Element)) return;
  for (const pre of node.matches("pre") ? [node] : node.querySelectorAll("pre")) {
    const frame = document.createElement("div");
    frame.className = "code";
    pre.replaceWith(frame);
    frame.append(pre);
    dress(frame, pre, pre.firstElementChild?.className.replace("language-", "") ?? "");
  }
  for (const table of node.matches("table") ? [node] : node.querySelectorAll("table")) {
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    label(scroll, "Table");
    table.replaceWith(scroll);
    scroll.append(table);
  }
}

function dress(frame, pre, language) {
  const name = /^[\w+#.-]{1,30}$/.test(language) ? language : "";
  label(pre, name ? `Code, ${name}` : "Code");
  const bar = document.createElement("div");
  bar.className = "code-bar";
  const title = document.createElement("span");
  title.textContent = name || "code";
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "quiet";
  copy.textContent = "Copy";
  copy.addEventListener("click", () => copyText(copy, pre.textContent));
  bar.append(title, copy);
  frame.prepend(bar);
}

/** What scrolls must be reached by keyboard, and say what it is. */
function label(element, name) {
  element.tabIndex = 0;
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", name);
}

export async function copyText(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = before), 1500);
}
