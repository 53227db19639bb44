// The last twelve seconds as a marble diagram: what the provider sent, how full the queue was, what the page took.
// Time runs to the right, the newest at the right edge. Everything here is a ring of a fixed size.

const SPAN_MS = 12_000;
const LAG_MS = 180; // telemetry comes every 100 ms: drawn a little late, marbles move evenly
const MAX_MARKS = 360; // a lane
const MAX_SAMPLES = 160;
const STEP_MS = 500; // how often it is drawn where motion is to be little

const LANES = [
  { key: "read", name: "from the provider" },
  { key: "level", name: "in the queue" },
  { key: "taken", name: "to the page" },
];

export class Marbles {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.stillness = matchMedia("(prefers-reduced-motion: reduce)");
    this.lastDraw = 0;
    this.colors = {};
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#restyle());
    new ResizeObserver(() => this.#resize()).observe(canvas);
    this.reset(32, 16);
  }

  reset(bound, lowWater) {
    this.bound = bound;
    this.lowWater = lowWater;
    this.read = [];
    this.taken = [];
    this.samples = [];
    this.endAt = null;
    this.endKind = null;
    this.#restyle();
  }

  /** @param {number} at milliseconds on the page's clock */
  mark(lane, at, kind) {
    const marks = this[lane];
    marks.push({ at, kind });
    if (marks.length > MAX_MARKS) marks.splice(0, marks.length - MAX_MARKS);
  }

  sample(at, events, isPaused) {
    this.samples.push({ at, events, isPaused });
    if (this.samples.length > MAX_SAMPLES) this.samples.shift();
  }

  end(at, kind) {
    this.endAt = at;
    this.endKind = kind;
  }

  /** Draw for now; returns whether there is a reason to draw again. */
  draw(now) {
    if (this.stillness.matches && now - this.lastDraw < STEP_MS) return true;
    this.lastDraw = now;
    const newest = this.endAt === null ? now - LAG_MS : Math.min(now - LAG_MS, this.endAt + 600);
    this.#paint(newest);
    return this.endAt === null || newest < this.endAt + 600;
  }

  #resize() {
    const scale = Math.min(devicePixelRatio || 1, 3);
    const { width, height } = this.canvas.getBoundingClientRect();
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.scale = scale;
    this.width = width;
    this.height = height;
    this.lastDraw = 0;
    this.draw(performance.now());
  }

  #restyle() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "soft", "rule", "edge", "water-fill", "shut-fill", "violet", "bad", "sheet", "wash"]) {
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
    }
    this.font = `11px ${style.getPropertyValue("--sans")}`;
    if (this.width) this.#paint(this.endAt === null ? performance.now() - LAG_MS : this.endAt + 600);
  }

  #paint(newest) {
    const { context, width, height, colors } = this;
    if (!width || !height) return;
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const place = (at) => width - 8 - ((newest - at) / SPAN_MS) * (width - 8);
    const lane = height / 3;
    this.#pauses(place, 16, lane - 2);
    LANES.forEach(({ name }, index) => {
      context.fillStyle = colors.soft;
      context.font = this.font;
      context.fillText(name, 0, index * lane + 11);
    });
    this.#line(lane * 0.62);
    this.#marks(this.read, place, lane * 0.62);
    this.#level(place, lane + 16, lane * 2 - 4);
    this.#line(lane * 2.62);
    this.#marks(this.taken, place, lane * 2.62);
    if (this.endAt !== null) this.#endMark(place(this.endAt), lane);
  }

  #line(y) {
    const { context, colors, width } = this;
    context.strokeStyle = colors.edge;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
  }

  /** Where the gate was shut, hatched. */
  #pauses(place, top, bottom) {
    const { context, colors } = this;
    context.strokeStyle = colors["shut-fill"];
    context.lineWidth = 1.5;
    for (let index = 1; index < this.samples.length; index += 1) {
      const [from, to] = [this.samples[index - 1], this.samples[index]];
      if (!from.isPaused) continue;
      const [left, right] = [Math.max(0, place(from.at)), place(to.at)];
      if (right < 0) continue;
      context.save();
      context.beginPath();
      context.rect(left, top, right - left, bottom - top);
      context.clip();
      context.beginPath();
      const first = Math.floor((left - (bottom - top)) / 6) * 6;
      for (let x = first; x < right; x += 6) {
        context.moveTo(x, bottom);
        context.lineTo(x + bottom - top, top);
      }
      context.globalAlpha = 0.45;
      context.stroke();
      context.restore();
    }
  }

  #level(place, top, bottom) {
    const { context, colors, width } = this;
    const y = (events) => bottom - (Math.min(events, this.bound) / this.bound) * (bottom - top);
    context.setLineDash([2, 4]);
    context.strokeStyle = colors.edge;
    context.lineWidth = 1;
    context.beginPath();
    for (const mark of [y(this.bound), y(this.lowWater)]) {
      context.moveTo(0, mark);
      context.lineTo(width, mark);
    }
    context.stroke();
    context.setLineDash([]);
    if (this.samples.length > 1) {
      context.fillStyle = colors["water-fill"];
      context.beginPath();
      context.moveTo(place(this.samples[0].at), bottom);
      for (const { at, events } of this.samples) context.lineTo(place(at), y(events));
      context.lineTo(place(this.samples.at(-1).at), bottom);
      context.globalAlpha = 0.55;
      context.fill();
      context.globalAlpha = 1;
    }
    this.#line(bottom);
  }

  #marks(marks, place, y) {
    for (const { at, kind } of marks) {
      const x = place(at);
      if (x > -6 && x < this.width + 6) this.#marble(x, y, kind);
    }
  }

  #marble(x, y, kind) {
    const { context, colors } = this;
    context.lineWidth = 1.5;
    context.beginPath();
    if (kind === "c") {
      context.fillStyle = colors.ink;
      context.rect(x - 4, y - 4, 8, 8);
      context.fill();
    } else if (kind === "r") {
      context.fillStyle = colors.sheet;
      context.strokeStyle = colors.violet;
      context.moveTo(x, y - 6);
      context.lineTo(x + 6, y);
      context.lineTo(x, y + 6);
      context.lineTo(x - 6, y);
      context.closePath();
      context.fill();
      context.stroke();
    } else {
      const isText = kind === "t";
      context.fillStyle = isText ? colors["water-fill"] : colors.sheet;
      context.strokeStyle = isText ? colors.sheet : colors.edge;
      context.arc(x, y, isText ? 5 : 4, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }

  /** As in every marble diagram: a bar where it completed, a cross where it failed. */
  #endMark(x, lane) {
    const { context, colors } = this;
    context.strokeStyle = this.endKind === "cross" ? colors.bad : colors.ink;
    context.lineWidth = 2.5;
    context.beginPath();
    const y = lane * 2.62;
    if (this.endKind === "cross") {
      context.moveTo(x - 5, y - 7);
      context.lineTo(x + 5, y + 7);
      context.moveTo(x + 5, y - 7);
      context.lineTo(x - 5, y + 7);
    } else {
      context.moveTo(x, y - 9);
      context.lineTo(x, y + 9);
    }
    context.stroke();
  }
}
