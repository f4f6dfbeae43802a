// What is declared of a dataset, as a list to insert names from, and questions to begin with.
import { element } from "./api.js";
import { quoted } from "./editor.js";
import { fraction } from "./money.js";

const short = (text) => (String(text).includes("/") ? String(fraction(text)) : String(text));

function facts(column, table) {
  const found = [column.type ?? "unknown type"];
  if (column.name === table.unit_column) found.push("says whose a row is");
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

/** The side bar; `insert` is given a name as SQL writes it. */
export function schemaList(schema, insert) {
  return schema.tables.map((table) =>
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
}

const nameButton = (name, insert) =>
  element("button", { type: "button", class: "link mono", onclick: () => insert(quoted(name)) }, name);

/** Questions for somebody new: `[{ words, sql }]`, made from what is declared alone. */
export function examples(schema) {
  const table = schema.tables.find((each) => !each.public && each.unit_column) ?? schema.tables.find((each) => !each.public);
  if (!table) return [];
  const from = quoted(table.name);
  const found = [{ words: "How many rows?", sql: `SELECT COUNT(*) AS n\nFROM ${from}` }];
  if (table.unit_column) {
    const whose = quoted(table.unit_column);
    found.push({
      words: `How many ${schema.privacy.unit}s?`,
      sql: `SELECT COUNT(DISTINCT ${whose}) AS n\nFROM ${from}`,
    });
  }
  const key = table.columns.find((column) => column.group_keys);
  const number = table.columns.find((column) => column.bounds && column.name !== table.unit_column);
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
