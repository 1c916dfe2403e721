// What stands between this page and textual-serve's terminal: where it connects to, why it ended, files, links.
"use strict";

const here = new URL(".", location.href); // behind a reverse proxy the page may stand in a folder
const page = document.body;
const again = document.getElementById("again");
const Plain = window.WebSocket;

const LOST = "The connection to presman was lost.";
const REFUSED = "presman cannot be reached, or did not let this page in.";
const ENDS = {
  1001: "presman serve has ended.",
  1013: "All viewer places are taken. Try again when somebody has left.",
  4000: "You have quit.",
  4001: "The monitor ended by itself. The reason is in the output of presman serve.",
};
const DECIDED = [1013, 4000, 4001]; // after every other end the page comes back by itself, whatever code a browser makes of it
const RETURNS = 5; // how often it comes back soon without having lived for a while, and at all where it is refused
const A_WHILE = 30000;
const SOON = 1500;

history.replaceState(null, "", here.pathname); // the token, which is kept as a cookie, is nobody's to see

function tell(text, { button }) {
  document.getElementById("said").textContent = text;
  again.hidden = !button;
  page.classList.add("-ended");
  if (button) again.focus();
}

function returns() {
  return Number(sessionStorage.getItem("returns") || 0);
}

async function comeBack() {
  const pause = returns() < RETURNS ? SOON : A_WHILE;
  sessionStorage.setItem("returns", returns() + 1);
  for (;;) {
    await new Promise((done) => setTimeout(done, pause));
    try {
      const answer = await fetch(new URL("alive", here), { cache: "no-store" });
      if (answer.status === 204) {
        // presman itself: a reverse proxy has an answer of its own, too, and its page would try nothing
        location.reload();
        return;
      }
    } catch {
      // nobody answers yet
    }
  }
}

function tellEnd(text, { returning }) {
  tell(returning ? `${text} The page comes back as soon as it can.` : text, { button: true });
  if (returning) comeBack();
}

class Line extends Plain {
  constructor(url) {
    super(url);
    let opened = false;
    this.addEventListener("open", () => {
      opened = true;
      document.querySelector(".xterm-helper-textarea").focus();
      setTimeout(() => this.readyState === Plain.OPEN && sessionStorage.removeItem("returns"), A_WHILE);
    });
    this.addEventListener("close", (event) => {
      const text = ENDS[event.code] || (opened ? LOST : REFUSED);
      tellEnd(text, { returning: !DECIDED.includes(event.code) && (opened || returns() < RETURNS) });
    });
  }
}
window.WebSocket = Line;

window.open = (url) => {
  // Files come from presman itself; nothing else is opened, whatever is written on the screen.
  const file = /\/download\/([\w-]+)$/.exec(url || "");
  if (file) {
    const link = document.createElement("a");
    link.href = new URL(`download/${file[1]}`, here);
    link.download = "";
    link.click();
  }
  return null;
};

if (!navigator.clipboard) {
  // Browsers have none where the line is not encrypted.
  const writeText = async (text) => {
    const area = document.createElement("textarea");
    const before = document.activeElement;
    area.value = text;
    page.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    before.focus();
  };
  Object.defineProperty(navigator, "clipboard", { value: { readText: async () => "", writeText } });
}

again.addEventListener("click", () => {
  sessionStorage.removeItem("returns");
  location.reload();
});

async function begin() {
  const fonts = ["", "bold "].map((style) => document.fonts.load(`${style}16px "Roboto Mono"`));
  await Promise.allSettled(fonts); // cells are measured when the terminal is made
  const terminal = document.getElementById("terminal");
  const socket = new URL("ws", here);
  socket.protocol = socket.protocol.replace("http", "ws");
  terminal.dataset.sessionWebsocketUrl = socket;
  terminal.classList.add("textual-terminal");
  const script = document.createElement("script");
  script.src = new URL("static/textual.js", here);
  script.onload = () => {
    try {
      window.onload();
    } catch (error) {
      console.error(error);
      tell("The terminal cannot be started in this browser.", { button: true });
    }
  };
  script.onerror = () => tellEnd(LOST, { returning: returns() < RETURNS });
  document.head.append(script);
}
window.addEventListener("load", begin);
