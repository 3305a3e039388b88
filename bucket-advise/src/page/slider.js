"use strict";
(() => {
  const slider = document.getElementById("capacity");
  if (!slider) return;
  const section = slider.closest("section");
  const rows = section.querySelectorAll("tr[data-place]");
  const cursor = section.querySelector(".cursor");
  const said = section.querySelector("output");
  const show = () => {
    rows.forEach((row, at) => row.classList.toggle("shown", at === Number(slider.value)));
    const row = rows[slider.value];
    cursor.setAttribute("transform", `translate(${row.dataset.place} 0)`);
    said.textContent = row.dataset.said;
    slider.setAttribute("aria-valuetext", row.dataset.said);
  };
  slider.addEventListener("input", show);
  show();
})();
