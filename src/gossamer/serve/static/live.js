"use strict";
// Keeps what changes of a page up to date. Without it the page shows what it showed when it was loaded.
(() => {
  const stream = document.body.dataset.stream;
  const places = new Map([...document.querySelectorAll("[data-live]")].map((each) => [each.dataset.live, each]));
  const state = places.get("state");
  if (!stream || !state) return;
  const late = new Map(); // pieces that came while they were in use
  const inUse = (place) => place.contains(document.activeElement) && document.activeElement !== document.body;

  // A piece is HTML that the server made, with everything escaped that a page said.
  const show = (key, html) => {
    const place = places.get(key);
    if (!place) return;
    if (inUse(place)) return void late.set(key, html); // whoever is there with the keyboard keeps the place
    late.delete(key);
    if (place.innerHTML === html) return;
    const scrolled = place.querySelector(".wide")?.scrollLeft;
    place.innerHTML = html;
    if (scrolled) place.querySelector(".wide").scrollLeft = scrolled;
    if (place.tagName !== "DD") return;
    place.classList.remove("changed-now");
    void place.offsetWidth; // starts the animation again
    place.classList.add("changed-now");
  };

  let source;
  const listen = () => {
    source = new EventSource(stream);
    source.onmessage = (event) => {
      state.classList.remove("lost");
      for (const [key, html] of [...late, ...Object.entries(JSON.parse(event.data))]) show(key, html);
    };
    source.onerror = () => {
      state.classList.add("lost");
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000); // it answered with an error
    };
  };
  listen();
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => event.persisted && listen());
})();
