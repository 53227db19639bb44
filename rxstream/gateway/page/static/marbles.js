// The last twelve seconds as a marble diagram: what the provider sent, how full the queue was, what the page took.
// Time runs to the right, the newest at the right edge. Everything here is a ring of a fixed size.

const SPAN_MS = 12_000;
const LAG_MS = 180; // telemetry comes every 100 ms: drawn a little late, marbles move evenly
const MAX_MARKS = 360; // a lane
const MAX_SAMPLES = 160;
const SIZE = 5; // a marble's radius, in pixels
const TOUCH = 9;
const STEP_MS = 500; // how often it is drawn where motion is to be little

const LANES = [
  { name: "from the provider", top: 0 },
  { name: "in the queue", top: 3 },
  { name: "to the page", top: 7 },
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
    const lane = height / 10; // three lanes: 3, 4 and 3 tenths
    this.#pauses(place, 16, lane * 3 - 4);
    context.fillStyle = colors.soft;
    context.font = this.font;
    LANES.forEach(({ name, top }) => context.fillText(name, 0, top * lane + 11));
    this.#line(lane * 2);
    this.#marks(this.read, place, lane * 2);
    this.#level(place, lane * 3 + 18, lane * 6.6);
    this.#line(lane * 9);
    this.#marks(this.taken, place, lane * 9);
    if (this.endAt !== null) this.#endMark(place(this.endAt), lane * 9);
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

  /** Marbles that touch run together, as drops do: from the first to the last of them one long one. */
  #marks(marks, place, y) {
    for (let index = 0; index < marks.length; ) {
      const { at, kind } = marks[index];
      const left = place(at);
      let right = left;
      for (index += 1; index < marks.length && marks[index].kind === kind; index += 1) {
        const next = place(marks[index].at);
        if (next - right > TOUCH) break;
        right = next;
      }
      if (right > -SIZE && left < this.width + SIZE) this.#marble(Math.max(left, -2 * SIZE), right, y, kind);
    }
  }

  #marble(left, right, y, kind) {
    const { context, colors } = this;
    const wide = right - left;
    context.lineWidth = 1.5;
    context.beginPath();
    if (kind === "c") {
      context.fillStyle = colors.ink;
      context.rect(left - 4, y - 4, wide + 8, 8);
      context.fill();
      return;
    }
    if (kind === "r") {
      context.moveTo(left, y - 6);
      context.lineTo(right, y - 6);
      context.lineTo(right + 6, y);
      context.lineTo(right, y + 6);
      context.lineTo(left, y + 6);
      context.lineTo(left - 6, y);
      context.closePath();
    } else {
      const radius = kind === "t" ? SIZE : SIZE - 1;
      context.roundRect(left - radius, y - radius, wide + 2 * radius, 2 * radius, radius);
    }
    context.fillStyle = kind === "t" ? colors["water-fill"] : colors.sheet;
    context.strokeStyle = kind === "r" ? colors.violet : colors.edge;
    context.fill();
    if (kind !== "t") context.stroke();
  }

  /** As in every marble diagram: a bar where it completed, a cross where it failed. */
  #endMark(x, y) {
    const { context, colors } = this;
    context.strokeStyle = this.endKind === "cross" ? colors.bad : colors.ink;
    context.lineWidth = 2.5;
    context.beginPath();
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
