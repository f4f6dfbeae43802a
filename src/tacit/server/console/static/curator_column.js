// One column of a draft: the fields that its type has room for.

import { element } from "./api.js";
import { Field, lines, select, text, tick } from "./curator_form.js";

const NUMERIC = ["integer", "decimal", "float"];
const EXAMPLES = { integer: ["0", "110"], decimal: ["0", "5000"], float: ["0", "1"], date: ["2020-01-01", "2029-12-31"], timestamp: ["2020-01-01T00:00:00", "2030-01-01T00:00:00"] };

/** The box of a column, and its fields by place. `redo` draws the table's columns again, `check` asks the service. */
export function columnFields(table, column, types, check, redo) {
  const at = (key) => ["tables", table.name, "columns", column.name, key];
  const set = (key) => (value) => {
    column[key] = value;
    check();
  };
  const focus = (key) => ({ "data-focus": `${column.name} ${key}` });
  const legend = element("legend", {}, column.name);
  if (!column.askable) {
    const words = element("p", { class: "soft small" }, `Its type (${column.native}) cannot be asked about, so it is left out.`);
    return { box: element("fieldset", { class: "column" }, legend, words), fields: [] };
  }
  const use = tick("may be used in questions", column.used, (value) => {
    column.used = value;
    redo();
  });
  use.firstChild.setAttribute("data-focus", `${column.name} used`);
  if (!column.used) return { box: element("fieldset", { class: "column" }, legend, element("div", { class: "checks" }, use)), fields: [] };

  const kind = select([["", "choose …"], ...types.map((type) => [type, type])], column.type, (value) => {
    column.type = value;
    redo();
  });
  kind.setAttribute("data-focus", `${column.name} type`);
  const main = [new Field("Type", kind, { place: at("type"), hint: column.native ? `stored as ${column.native}` : "read from the file: confirm it" })];
  const more = [];
  const person = table.whose === "unit" && table.unit_column === column.name;
  const numeric = NUMERIC.includes(column.type);
  if (!person && (numeric || column.type === "date" || column.type === "timestamp")) {
    const [low, high] = EXAMPLES[column.type];
    main.push(new Field("Least", text(column.low, set("low"), { placeholder: low, ...focus("low") }), { place: at("bounds") }));
    main.push(new Field("Most", text(column.high, set("high"), { placeholder: high, ...focus("high") })));
  }
  if (!person && ["text", "integer", "boolean", "date"].includes(column.type)) {
    const hint = "If everybody knows them, one a line. All groups are then shown.";
    const field = new Field("Possible values", lines(column.group_keys, set("group_keys"), focus("group_keys")), { place: at("group_keys"), hint, wide: true });
    (column.type === "text" ? main : more).push(field);
  }
  if (!person && numeric) {
    if (column.type !== "integer") more.push(new Field("Precision", text(column.step, set("step"), { placeholder: "0.01", ...focus("step") }), { place: at("step") }));
    more.push(new Field("Usual value", text(column.typical, set("typical"), focus("typical")), { place: at("typical"), hint: "a public guess; averages get better" }));
    if (table.whose === "unit") more.push(new Field("Most one person adds", text(column.clip, set("clip"), { placeholder: "or private", ...focus("clip") }), { place: at("clip"), hint: "to a sum, over all groups" }));
  }
  const checks = [use];
  if (!person) {
    checks.push(tick("never missing", !column.nullable, (value) => set("nullable")(!value)));
  }
  const box = element("fieldset", { class: "column" }, legend,
    element("div", { class: "parts" }, main.map((field) => field.box)),
    more.length ? element("details", { open: more.some((field) => field.input.value && column.step !== field.input.value) }, element("summary", {}, "More"), element("div", { class: "parts" }, more.map((field) => field.box))) : null,
    person ? element("p", { class: "soft small" }, "It names the person, so its values are the secret.") : null,
    element("div", { class: "checks" }, checks));
  return { box, fields: [...main, ...more] };
}
