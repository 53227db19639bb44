// Which model is asked: one of the gateway's names, or, where it takes any model of a provider, a name of one's own.

import { safeLine } from "./safe_text.js";

const $ = (id) => document.getElementById(id);
const OPEN_END = "/*";

export function fillModels({ models }) {
  const select = $("model");
  const before = select.value;
  select.replaceChildren(
    ...models.map((name) => {
      const option = document.createElement("option");
      option.value = name;
      option.textContent = isOpen(name) ? `${safeLine(name.slice(0, -OPEN_END.length), 60)}: another model` : safeLine(name, 60);
      return option;
    }),
  );
  select.disabled = models.length === 0;
  if (models.includes(before)) select.value = before;
  showOther();
}

export function modelName({ models }) {
  const name = $("model").value || models[0] || "";
  return isOpen(name) ? `${name.slice(0, -1)}${$("model-name").value.trim()}` : name;
}

function isOpen(name) {
  return name.endsWith(OPEN_END);
}

function showOther() {
  $("other-model").hidden = !isOpen($("model").value);
}

$("model").addEventListener("change", showOther);
