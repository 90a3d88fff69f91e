// Small comforts; every page works without them.
"use strict";

for (const slider of document.querySelectorAll('input[type="range"]')) {
  const shown = document.querySelector(`output[for="${slider.id}"]`);
  slider.addEventListener("input", () => {
    shown.textContent = slider.value + shown.dataset.unit;
  });
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue; // only pages over https or of this machine may copy
  button.hidden = false;
  button.addEventListener("click", async () => {
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text and copy it";
    }
    setTimeout(() => {
      button.textContent = words;
    }, 2000);
  });
}

const waiting = document.querySelector("[data-reload]");
if (waiting) {
  let typed = false; // what somebody is filling in must not be lost
  document.addEventListener("input", () => {
    typed = true;
  });
  setTimeout(() => typed || location.reload(), Number(waiting.dataset.reload));
}
