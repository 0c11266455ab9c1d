import { render } from "preact";
import { App } from "./app.js";
import { listenToKeys } from "./commands.js";
import { startNow } from "./parts/now.js";
import { followAddress } from "./route.js";
import { applyTheme } from "./theme.js";

applyTheme();
followAddress();
startNow();
listenToKeys();

const place = document.getElementById("console");
if (place !== null) {
  place.replaceChildren();
  render(<App />, place);
}
