// The page: form, worker, result. All texts from tables and replies are inserted as text, never as HTML.
"use strict";

const at = (id) => document.getElementById(id);
const EXAMPLES = [
    { name: "adsorption (NIST Misra1a)", file: "misra1a.csv", model: "b1*(1 - exp(-b2*x))" },
    { name: "decay, decimal commas", file: "decay.csv", model: "a*exp(-t/tau) + c", sigma: "2" },
    { name: "two peaks (NIST Gauss2)", file: "gauss2.csv", model: "gaussian(first_) + gaussian(second_) + exponential(background_)" },
    { name: "dose and response", file: "dose.csv", model: "logistic4", logX: true },
];
const TYPING_MS = 300;
// Maximum length of a text in the field, in characters.
const LONGEST_SHOWN = 200_000;
// Follows the message of a crash; an error of a request is an ordinary reply.
const RESTARTED = "The module was restarted. Please report this with the table and the model.";

// Worker

let worker = null;
let waiting = new Map();
let numbers = 0;

// Starts a new worker. Requests of the last one fail with `reason`.
function restart(reason) {
    worker?.terminate();
    for (const { reject } of waiting.values()) reject(new Error(reason));
    waiting = new Map();
    worker = new Worker("worker.js");
    worker.onmessage = ({ data: { number, reply, fault } }) => {
        if (fault !== undefined) {
            restart(`The computation failed: ${fault}\n${RESTARTED}`);
            return;
        }
        waiting.get(number)?.resolve(reply);
        waiting.delete(number);
    };
    worker.onerror = (event) => restart(`The computation failed: ${event.message}\n${RESTARTED}`);
}

function ask(request) {
    numbers += 1;
    const number = numbers;
    return new Promise((resolve, reject) => {
        waiting.set(number, { resolve, reject });
        worker.postMessage({ number, request });
    });
}

// Table

// The table: the text of the field, or a long text of which the field shows the beginning.
let fileName = "data.csv";
let long = null;
let described = 0;
let typing = null;

function tableText() {
    return long ?? at("text").value;
}

// Takes a table. Browsers lay out long texts slowly; therefore the field shows the beginning only, and is read-only.
function put(text, name) {
    fileName = name;
    long = text.length > LONGEST_SHOWN ? text : null;
    at("text").value = long ? `${text.slice(0, text.lastIndexOf("\n", LONGEST_SHOWN))}\n…` : text;
    at("text").readOnly = long !== null;
    return describe();
}

function options(select, entries, chosen) {
    select.replaceChildren(...entries.map(([value, label]) => new Option(label, value, false, value === chosen)));
}

// Reads the table again after a change, and shows its columns. Returns false if there is no table.
async function describe() {
    described += 1;
    const turn = described;
    const text = tableText();
    at("preview").hidden = true;
    if (!text.trim()) return;
    let reply;
    try {
        reply = await ask({ request: "table", text, name: fileName });
    } catch (why) {
        reply = { error: why.message };
    }
    if (turn !== described) return;
    at("message").textContent = reply.error ?? "";
    if (reply.error) return;
    const names = reply.columns.map((column, i) => [String(i), column.name]);
    const kept = (id, usual) => (Number(at(id).value || usual) < names.length ? at(id).value || usual : usual);
    options(at("x"), names, kept("x", "0"));
    options(at("y"), names, kept("y", "1"));
    options(at("sigma"), [["", "unknown"], ...names], kept("sigma", ""));
    preview(reply.columns);
}

function preview(columns) {
    const table = document.createElement("table");
    const row = (kind, texts) => {
        const cells = texts.map((text) => Object.assign(document.createElement(kind), { textContent: text }));
        table.insertRow().append(...cells);
    };
    table.createCaption().textContent = `${columns[0].rows} rows`;
    row("th", columns.map((column) => column.name));
    for (let i = 0; i < columns[0].first.length; i += 1) row("td", columns.map((column) => column.first[i] ?? ""));
    at("preview").replaceChildren(table);
    at("preview").hidden = false;
}

function changed() {
    clearTimeout(typing);
    typing = setTimeout(describe, TYPING_MS);
}

async function take(file) {
    await put(await file.text(), file.name);
}

// Fit

function busy(is) {
    at("fit").disabled = is;
    at("cancel").disabled = !is;
    at("result").setAttribute("aria-busy", String(is));
}

async function fit() {
    if (at("fit").disabled) return;
    clearTimeout(typing);
    busy(true);
    at("message").textContent = "";
    at("status").textContent = "Fitting…";
    const begun = performance.now();
    try {
        if (!tableText().trim()) throw new Error("The table is empty; paste rows of numbers.");
        if (!at("model").value.trim()) throw new Error("There is no model; write a formula or choose one of the library.");
        if (!at("x").value) await describe();
        const width = Math.round(Math.min(860, Math.max(320, at("result").clientWidth)));
        const reply = await ask({
            request: "fit", text: tableText(), name: fileName, model: at("model").value,
            x: Number(at("x").value || 0), y: Number(at("y").value || 1),
            sigma: at("sigma").value === "" ? null : Number(at("sigma").value),
            log_x: at("log-x").checked, log_y: at("log-y").checked,
            size: [width, Math.round(width * (width < 500 ? 1 : 0.72))],
        });
        if (reply.error) throw new Error(reply.error);
        show(reply, (performance.now() - begun) / 1000);
    } catch (why) {
        at("found").hidden = true;
        at("status").textContent = "No result";
        at("message").textContent = why.message;
    }
    busy(false);
    at("status").focus();
}

function fill(body, rows) {
    body.replaceChildren();
    for (const [name, ...texts] of rows) {
        const row = body.insertRow();
        row.append(Object.assign(document.createElement("th"), { textContent: name, scope: "row" }));
        for (const text of texts) row.insertCell().textContent = text;
    }
}

function show(reply, seconds) {
    const outcome = reply.converged ? "Converged" : "Not converged";
    at("status").textContent = `${outcome} (${seconds.toFixed(2)} s): ${reply.message.replace(/^converged: /, "")}`;
    const left = reply.omitted ? [`${reply.omitted} rows without finite numbers were left out`] : [];
    const warnings = [...reply.warnings, ...reply.notes, ...left];
    at("warnings").replaceChildren(...warnings.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    fill(at("parameters").tBodies[0], [...reply.parameters, ...reply.derived].map(({ name, texts }) => [name, ...texts]));
    fill(at("statistics").tBodies[0], reply.statistics);
    for (const id of ["report", "python", "rust"]) at(id).textContent = reply[id];
    const picture = at("picture");
    URL.revokeObjectURL(picture.src);
    picture.removeAttribute("src");
    at("picture-help").textContent = reply.not_drawn ? `No picture: ${reply.not_drawn}` : "";
    if (reply.picture) {
        picture.src = URL.createObjectURL(new Blob([reply.picture], { type: "image/svg+xml" }));
        picture.alt = `Points, fitted curve with 95 % band, and residuals of ${at("model").value}`;
    }
    at("found").hidden = false;
}

function cancel() {
    if (!at("cancel").disabled) restart("The fit was cancelled.");
}

// Events

at("text").addEventListener("input", () => {
    fileName = "data.csv";
    changed();
});
at("text").addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (text.length <= LONGEST_SHOWN || at("text").value) return;
    event.preventDefault();
    put(text, "data.csv");
});
at("clear").addEventListener("click", () => {
    put("", "data.csv");
    at("message").textContent = "";
    at("text").focus();
});
at("file").addEventListener("change", () => at("file").files[0] && take(at("file").files[0]));
at("text").addEventListener("dragover", (event) => {
    event.preventDefault();
    at("text").classList.add("over");
});
at("text").addEventListener("dragleave", () => at("text").classList.remove("over"));
at("text").addEventListener("drop", (event) => {
    at("text").classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (!file) return;
    event.preventDefault();
    take(file);
});
at("library").addEventListener("change", () => {
    if (at("library").value) at("model").value = at("library").value;
});
at("form").addEventListener("submit", (event) => {
    event.preventDefault();
    fit();
});
at("cancel").addEventListener("click", cancel);
document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") cancel();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) fit();
});
for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => navigator.clipboard.writeText(at(button.dataset.copy).textContent));
}

async function load({ file, model, sigma = "", logX = false }) {
    const response = await fetch(file);
    if (!response.ok) {
        at("message").textContent = `${file} cannot be loaded (${response.status})`;
        return;
    }
    at("model").value = model;
    at("log-x").checked = logX;
    at("log-y").checked = false;
    for (const [id, value] of [["x", "0"], ["y", "1"], ["sigma", sigma]]) options(at(id), [[value, value]], value);
    await put(await response.text(), file);
    await fit();
}

restart("");
at("examples").append(...EXAMPLES.map((example) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: example.name });
    button.addEventListener("click", () => load(example));
    return button;
}));
ask({ request: "models" }).then(({ models }) => {
    at("library").append(...models.map(({ name, formula }) => new Option(`${name}: ${formula}`, name)));
}, (why) => {
    at("message").textContent = why.message;
});
