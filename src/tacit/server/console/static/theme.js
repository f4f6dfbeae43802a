// Before the first paint: the colours that were chosen by hand, if any. Without a choice the system's are used.
try {
  const chosen = localStorage.getItem("tacit-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // storage may be switched off
}
