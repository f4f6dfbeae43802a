// What is declared of a dataset, as a list to insert names from, and questions to begin with.
import { element } from "./api.js";
import { quoted } from "./editor.js";
import { fraction } from "./money.js";

const short = (text) => (String(text).includes("/") ? String(fraction(text)) : String(text));

function facts(column, table) {
  const found = [column.type ?? "unknown type"];
  if ([table.unit_column].flat().includes(column.name)) found.push("says whose a row is");
  if (column.name === table.link?.column) found.push(`leads to ${table.link.table}`);
  if (column.bounds) found.push(`${short(column.bounds[0])} to ${short(column.bounds[1])}`);
  if (column.step) found.push(`steps of ${short(column.step)}`);
  if (column.nullable === false) found.push("never NULL");
  if (column.group_keys) {
    const shown = column.group_keys.slice(0, 6).map((key) => (key === null ? "NULL" : String(key)));
    found.push(`keys: ${shown.join(", ")}${column.group_keys.length > 6 ? ` and ${column.group_keys.length - 6} more` : ""}`);
  }
  return found.join(" · ");
}

function unit(table, privacy) {
  if (table.public) return "public: free of noise";
  const rows = table.each_row_is_a_unit ? `each row is one ${privacy.unit}` : `protects one ${privacy.unit}`;
  const most = table.clip_rows ?? table.max_rows_per_unit;
  return most ? `${rows}, which counts for up to ${short(most)} ${short(most) === "1" ? "row" : "rows"}` : rows;
}

/** Whose a row is, as a tree: the person, the tables that name them, and below each the tables that link to it; nothing
 * where there are no links. */
export function linkDiagram(schema) {
  const linked = schema.tables.filter((table) => table.link);
  if (!linked.length) return [];
  const branch = (table, steps) =>
    element(
      "li",
      {},
      element("span", { class: "mono" }, table.name),
      table.link ? element("span", { class: "by" }, `by ${table.link.column}`) : null,
      below(table.name, steps + 1),
    );
  const below = (name, steps) => {
    const found = steps > schema.tables.length ? [] : linked.filter((table) => table.link.table === name);
    return found.length ? element("ul", {}, found.map((table) => branch(table, steps))) : null;
  };
  const named = new Set(linked.map((table) => table.link.table));
  const roots = schema.tables.filter((table) => !table.link && named.has(table.name));
  const person = element("span", { class: "person" }, `one ${schema.privacy.unit}`);
  const tree = element("ul", {}, element("li", {}, person, element("ul", {}, roots.map((table) => branch(table, 0)))));
  return [element("figure", { class: "links", "aria-label": "Whose a row is" }, tree)];
}

/** The side bar; `insert` is given a name as SQL writes it. */
export function schemaList(schema, insert) {
  const tables = schema.tables.map((table) =>
    element(
      "section",
      {},
      element("h3", {}, nameButton(table.name, insert)),
      element("p", { class: "unit" }, unit(table, schema.privacy)),
      element(
        "ul",
        {},
        table.columns.map((column) =>
          element(
            "li",
            {},
            nameButton(column.name, insert),
            element("span", { class: "facts-line" }, facts(column, table)),
          ),
        ),
      ),
    ),
  );
  return [...linkDiagram(schema), ...tables];
}

const nameButton = (name, insert) =>
  element("button", { type: "button", class: "link mono", onclick: () => insert(quoted(name)) }, name);

/** Questions for somebody new: `[{ words, sql }]`, made from what is declared alone. */
export function examples(schema) {
  const table = schema.tables.find((each) => !each.public && typeof each.unit_column === "string") ?? schema.tables.find((each) => !each.public);
  if (!table) return [];
  const from = quoted(table.name);
  const found = [{ words: "How many rows?", sql: `SELECT COUNT(*) AS n\nFROM ${from}` }];
  if (typeof table.unit_column === "string") {
    const whose = quoted(table.unit_column);
    found.push({
      words: `How many ${schema.privacy.unit}s?`,
      sql: `SELECT COUNT(DISTINCT ${whose}) AS n\nFROM ${from}`,
    });
  }
  const key = table.columns.find((column) => column.group_keys);
  const number = table.columns.find((column) => column.bounds && ![table.unit_column].flat().includes(column.name));
  if (key) {
    const by = quoted(key.name);
    found.push({
      words: `How many by ${key.name}?`,
      sql: `SELECT ${by}, COUNT(*) AS n\nFROM ${from}\nGROUP BY ${by}`,
    });
  }
  if (number) {
    const of = quoted(number.name);
    found.push({ words: `The average ${number.name}?`, sql: `SELECT AVG(${of}) AS average\nFROM ${from}` });
    if (key) {
      const by = quoted(key.name);
      found.push({
        words: `The average ${number.name} by ${key.name}?`,
        sql: `SELECT ${by}, COUNT(*) AS n, AVG(${of}) AS average\nFROM ${from}\nGROUP BY ${by}`,
      });
    }
  }
  return found;
}
