// What every page has: the switch between light and dark, and the way out.
import { call, find, toast } from "./api.js";

const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

find("#theme").addEventListener("click", () => {
  const next = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("tacit-theme", next);
  } catch {
    // then it holds for this page
  }
  document.dispatchEvent(new CustomEvent("theme"));
});

find("#signout")?.addEventListener("click", async () => {
  try {
    await call("POST", "/signout");
  } catch (problem) {
    if (problem.status !== 401) {
      toast(problem.message);
      return;
    }
  }
  location.assign("/signin");
});
