// Keeps the pages of surveys, so that they open and work without a network. Nothing that is sent passes through here.

const KEPT = "tacit-survey-1";
const FILES = ["/static/app.css", "/static/theme.js", "/static/mark.svg", "/survey-static/survey.css",
  "/survey-static/respond.js", "/survey-static/words.js", "/survey-static/memo.js", "/survey-static/blind.js",
  "/survey-static/tacit-survey.js"];

self.addEventListener("install", event => {
  event.waitUntil(caches.open(KEPT).then(kept => kept.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", event => {
  const {request} = event, {origin, pathname} = new URL(request.url);
  const ours = FILES.includes(pathname) || /^\/s\/[a-z][a-z0-9_-]*$/.test(pathname);
  if (request.method !== "GET" || origin !== location.origin || !ours) return;
  event.respondWith(fresh(request));
});

async function fresh(request) {
  const kept = await caches.open(KEPT);
  try {
    const found = await fetch(request);
    if (found.ok) await kept.put(request, found.clone());
    return found;
  } catch (error) {
    const before = await kept.match(request, {ignoreSearch: true});
    if (before) return before;
    throw error;
  }
}
