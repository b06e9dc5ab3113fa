"use strict";
// Keeps the figures of the overview up to date. Without it the page shows what it showed when it was loaded.
(() => {
  const name = document.body.dataset.name;
  const places = new Map([...document.querySelectorAll("[data-live]")].map((each) => [each.dataset.live, each]));
  if (!name || !places.has("state")) return;
  const source = new EventSource(`/c/${encodeURIComponent(name)}/live`);
  const state = places.get("state");
  source.onmessage = (event) => {
    state.classList.remove("lost");
    for (const [key, text] of Object.entries(JSON.parse(event.data))) {
      const place = places.get(key);
      if (!place || place.textContent === text) continue;
      place.textContent = text;
      place.classList.remove("changed");
      void place.offsetWidth; // starts the animation again
      place.classList.add("changed");
    }
  };
  source.onerror = () => state.classList.add("lost");
  addEventListener("pagehide", () => source.close());
})();
