// The editor: a plain text area, with line numbers beside it and colours behind it. Tab leaves it, as everywhere.
import { element } from "./api.js";

export const WORDS = new Set(
  `all and as asc avg between by case cast coalesce count cross desc distinct else end except exists false filter first
   from full group grouping having if in inner intersect interval is join last left like limit max median min mode not
   null nulls offset on or order outer over partition percentile_cont quantile right select stddev sum then true union
   using values var_pop var_samp variance when where with within`.split(/\s+/),
);

const TOKENS = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_]\w*)/g;
const KINDS = [null, "sql-remark", "sql-text", null, "sql-number", null];
const LONGEST = 20000; // characters that are coloured

function painted(text) {
  const made = [];
  let end = 0;
  for (const match of text.slice(0, LONGEST).matchAll(TOKENS)) {
    const place = match.findIndex((part, i) => i > 0 && part !== undefined);
    const kind = place === 5 ? (WORDS.has(match[0].toLowerCase()) ? "sql-word" : null) : KINDS[place];
    if (!kind) continue;
    made.push(text.slice(end, match.index), element("span", { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  made.push(text.slice(end), "\n"); // a last line that is empty has its height too
  return made;
}

/** Dress the text area; `changed` is called with the text after every change. Gives `{ text, write, insert }`. */
export function dressed(area, changed) {
  const box = area.closest(".editor");
  const paint = box.querySelector(".paint");
  const lines = box.querySelector(".lines");

  function draw() {
    paint.replaceChildren(...painted(area.value));
    const count = area.value.split("\n").length;
    lines.textContent = Array.from({ length: count }, (_, i) => i + 1).join("\n");
    area.removeAttribute("aria-invalid");
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
    follow();
  }
  function follow() {
    paint.scrollTop = lines.scrollTop = area.scrollTop;
    paint.scrollLeft = area.scrollLeft;
  }
  area.addEventListener("input", () => {
    draw();
    changed(area.value);
  });
  area.addEventListener("scroll", follow);
  draw();

  const write = (text) => {
    area.value = text;
    draw();
    changed(text);
  };
  return {
    text: () => area.value,
    write,
    /** Point at the line that a message names as "line 3, column 7", if it does. */
    blame(message) {
      area.setAttribute("aria-invalid", "true");
      const [, line] = /\bline (\d+), column \d+/.exec(message) ?? [];
      const numbers = lines.textContent.split("\n");
      if (!line || Number(line) > numbers.length) return;
      const at = Number(line) - 1;
      const before = numbers.slice(0, at).map((number) => `${number}\n`).join("");
      const after = numbers.slice(at + 1).map((number) => `\n${number}`).join("");
      lines.replaceChildren(before, element("mark", {}, numbers[at]), after);
    },
    /** Put a word where the cursor is, with a space where words would touch. */
    insert(word) {
      const { selectionStart: start, selectionEnd: end, value } = area;
      const before = /[\w")]$/.test(value.slice(0, start)) ? " " : "";
      write(value.slice(0, start) + before + word + value.slice(end));
      const at = start + before.length + word.length;
      area.focus();
      area.setSelectionRange(at, at);
    },
  };
}

/** A name as SQL needs it written. */
export const quoted = (name) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !WORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
