// Charts: Vega is loaded when the first one is drawn, and told to interpret its expressions, so that no text becomes code.
import { note, sentence } from "./api.js";

let loading = null;

async function embed() {
  loading ??= import("./vega.js");
  try {
    await loading;
  } catch (error) {
    loading = null;
    throw error;
  }
  return window.vegaEmbed;
}

/** Fetch what draws, so that the first chart is there sooner. */
export const warm = () => setTimeout(() => embed().catch(() => {}), 500);

/** A colour of the page as six hexadecimal digits. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const [red, green, blue] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  probe.remove();
  return [red, green, blue].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");
}

/** The page's look for any chart. */
function look() {
  const [ink, soft, line] = ["ink", "soft", "line"].map((name) => `#${colour(name)}`);
  const text = { labelColor: soft, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 };
  return {
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    padding: 4,
    view: { stroke: null },
    axis: { ...text, gridColor: line, domainColor: line, tickColor: line },
    legend: text,
    title: { color: ink },
  };
}

/** Draw a Vega-Lite specification into `place`. What was drawn there before is let go of. */
async function draw(place, specification) {
  const vegaEmbed = await embed();
  place.view?.finalize();
  const { $schema: _, ...plain } = specification; // it only names a version
  const drawn = await vegaEmbed(place, plain, {
    mode: "vega-lite",
    ast: true,
    actions: false,
    tooltip: false,
    defaultStyle: false,
    renderer: "canvas",
    config: look(),
    loader: { target: "_self", http: {} },
  });
  place.view = drawn;
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", specification.description ?? "Chart");
  return drawn;
}

/** Draw what `wanted` gives, now and whenever the colours change, as long as `place` is on the page. Gives what draws
    it again. */
export async function picture(place, wanted) {
  const paint = async () => {
    try {
      await draw(place, await wanted());
    } catch (problem) {
      place.replaceChildren(note("", "No chart.", sentence(problem.message)));
    }
  };
  await paint();
  const again = () => (place.isConnected ? paint() : document.removeEventListener("theme", again));
  document.addEventListener("theme", again);
  return paint;
}
