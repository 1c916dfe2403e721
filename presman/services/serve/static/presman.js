// The link between this page and textual-serve's terminal: its connection, the reason for its end, files, links.
"use strict";

const here = new URL(".", location.href); // a reverse proxy may serve the page from a folder
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
const DECIDED = [1013, 4000, 4001]; // after any other close code, including the browser's own, the page reloads by itself
const RETURNS = 5; // quick reloads of a page that did not stay open for a while; the most reloads if it is refused
const A_WHILE = 30000;
const SOON = 1500;

history.replaceState(null, "", here.pathname); // hides the token, which is kept in a cookie

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
        // only presman answers 204: an error page of a reverse proxy would not reload
        location.reload();
        return;
      }
    } catch {
      // no answer yet
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
  // Only files from presman are opened, whatever links the screen shows.
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
  // Browsers have no clipboard without TLS.
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
  await Promise.allSettled(fonts); // the terminal measures its cells when it is created
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
