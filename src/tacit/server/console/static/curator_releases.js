// Releases and their certificates: one's own, and what others share.

import { element, find, get, path, spelled, trouble } from "./api.js";
import { table } from "./curator_form.js";

/** What it cost: in the currency that it was paid in, where that is known; and its own delta. */
function price({ cost, currency }) {
  const names = [currency ?? (cost?.epsilon ? "epsilon" : "rho"), "delta"];
  return names.filter((name) => Number(cost?.[name])).map((name) => `${spelled(cost[name])} ${name}`).join(", ");
}

async function list(title, query, empty) {
  const { items } = await get(`/v1/releases?limit=100${query}`);
  const rows = items.map((release) => [
    release.time ? String(release.time).replace("T", " ").slice(0, 16) : "",
    release.owner,
    release.dataset,
    element("code", { class: "small" }, release.sql),
    price(release),
    element("a", { href: path`/v1/releases/${release.id}/certificate` }, "Certificate"),
  ]);
  return element("section", { class: "card stack" }, element("h2", {}, title), table(["When", "Who", "Dataset", "Question", "Cost", "Certificate"], rows, empty));
}

async function begin() {
  const place = find("#releases");
  try {
    place.replaceChildren(
      await list("Your own", "", "You have asked nothing yet."),
      await list("Shared with you", "&shared=true", "Nobody shares a release yet."),
    );
  } catch (problem) {
    place.replaceChildren(trouble(problem));
  }
}

begin();
