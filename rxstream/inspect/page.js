"use strict";
/* A line under the pointer that says which time it is. The page is whole without it. */
for (const figure of document.querySelectorAll("figure[data-high]")) {
  const { high, left, right, width, unit } = figure.dataset;
  const drawing = figure.querySelector("svg");
  const pointer = document.createElement("div");
  pointer.id = "pointer";
  pointer.append(document.createElement("span"));
  const say = (value) => {
    if (unit === "event") return `event ${Math.max(1, Math.round(value))}`;
    if (value < 1) return `${Math.round(value * 1000)} ms`;
    return value < 60 ? `${value.toFixed(2)} s` : `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  };
  figure.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * width;
    if (x < left || x > right) { pointer.remove(); return; }
    pointer.style.setProperty("left", `${event.clientX - figure.getBoundingClientRect().left + figure.scrollLeft}px`);
    pointer.classList.toggle("left", x > (Number(left) + Number(right)) / 2);
    pointer.firstChild.textContent = say(((x - left) / (right - left)) * high);
    figure.append(pointer);
  });
  figure.addEventListener("pointerleave", () => pointer.remove());
}
