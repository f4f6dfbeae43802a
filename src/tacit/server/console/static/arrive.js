// A link on another site led here, and browsers then keep the session back. If there is one, the page is fetched again.
import { get } from "./api.js";

get("/v1/me")
  .then(() => location.replace(location.href))
  .catch(() => {}); // nobody is signed in: the page says how
