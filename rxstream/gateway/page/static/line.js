// The line to the gateway: one WebSocket for the page. The answer's events come against credit: the gateway sends no
// more of them than were asked for, so a page that asks slowly pauses the provider. Telemetry comes without credit.

export const WINDOW = 16; // events asked for ahead
const PROTOCOL = "rxstream.page";
const SLOW_EVERY_MS = 700; // a slow reader asks for one event so often

export class Line {
  /**
   * @param {object} on what to call: `ready(hello)`, `needToken(message)`, `event(event)`,
   *   `pipeline(state)`,
   *   `notice(message)`, `end(end)`, `lost(message)`
   */
  constructor(on) {
    this.on = on;
    this.socket = null;
    this.hello = null;
    this.token = null;
    this.outstanding = 0; // events asked for that have not come
    this.isSlow = false;
    this.isRunning = false;
    this.slowTimer = null;
    this.onReady = [];
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN && this.hello !== null;
  }

  open() {
    if (this.socket !== null && this.socket.readyState <= WebSocket.OPEN) return;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    // A browser lets a page set no header of a WebSocket but this one; in the URL a token would end up in logs.
    const protocols = this.token === null ? [PROTOCOL] : [PROTOCOL, `rxstream.token.${hex(this.token)}`];
    const socket = new WebSocket(`${scheme}//${location.host}/page/socket`, protocols);
    this.socket = socket;
    this.hello = null;
    socket.addEventListener("message", ({ data }) => socket === this.socket && this.#receive(JSON.parse(data)));
    socket.addEventListener("close", (closing) => socket === this.socket && this.#closed(closing));
  }

  /** Open, where it is not, and wait until the gateway is ready. */
  async ready() {
    if (this.isOpen) return this.hello;
    const ready = new Promise((resolve, reject) => this.onReady.push({ resolve, reject }));
    this.open();
    return ready;
  }

  /** Say who asks, and open: the gateway's answer to a plain request tells whether it takes the token. */
  async enter(token) {
    if (token !== null) {
      const said = await fetch("/v1/models", { headers: { authorization: `Bearer ${token}` } }).catch(() => null);
      if (said?.status === 401) {
        this.on.needToken("The gateway does not know this token.");
        return;
      }
    }
    this.token = token;
    this.open();
  }

  ask(model, messages) {
    this.isRunning = true;
    this.outstanding = 0;
    this.#send({ type: "chat", model, messages });
    this.#grant(this.isSlow ? 1 : WINDOW);
    this.#pace();
  }

  /** So many events were shown. */
  shown(count) {
    if (this.isRunning && !this.isSlow && count > 0) this.#grant(Math.min(count, WINDOW - this.outstanding));
  }

  slow(isSlow) {
    this.isSlow = isSlow;
    this.#pace();
    if (this.isRunning && !isSlow) this.#grant(WINDOW - this.outstanding);
  }

  stop() {
    if (this.isRunning) this.#send({ type: "stop" });
  }

  cut() {
    if (this.isRunning) this.#send({ type: "cut" });
  }

  #receive(message) {
    switch (message.type) {
      case "ready":
        this.hello = message;
        this.on.ready(message);
        this.onReady.splice(0).forEach(({ resolve }) => resolve(message));
        break;
      case "event":
        this.outstanding = Math.max(0, this.outstanding - 1);
        this.on.event(message.event);
        break;
      case "pipeline":
        this.on.pipeline(message);
        break;
      case "notice":
        this.on.notice(message.message);
        break;
      case "end":
        this.#ended();
        this.on.end(message);
        break;
    }
  }

  #closed({ code, reason }) {
    const wasRunning = this.isRunning;
    this.#ended();
    this.hello = null;
    const sentence = reason || (code === 1006 ? "The gateway cannot be reached." : "The gateway closed the line.");
    this.onReady.splice(0).forEach(({ reject }) => reject(new Error(sentence)));
    this.on.lost(sentence, wasRunning);
  }

  #ended() {
    this.isRunning = false;
    this.outstanding = 0; // what was asked for belongs to the answer that has ended
    this.#pace();
  }

  #pace() {
    const mustTick = this.isRunning && this.isSlow;
    if (mustTick && this.slowTimer === null) {
      this.slowTimer = setInterval(() => this.outstanding === 0 && this.#grant(1), SLOW_EVERY_MS);
    } else if (!mustTick && this.slowTimer !== null) {
      clearInterval(this.slowTimer);
      this.slowTimer = null;
    }
  }

  #grant(n) {
    if (n < 1) return;
    this.outstanding += n;
    this.#send({ type: "request", n });
  }

  #send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

function hex(text) {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
