// Runs the fits. Messages: {number, request} to the worker; {number, reply} or {number, fault} to the page.
"use strict";

let exports = null;

async function load() {
    const response = await fetch("dualfit.wasm");
    if (!response.ok) throw new Error(`dualfit.wasm cannot be loaded (${response.status})`);
    // Not streamed: not every server sends the type application/wasm.
    const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {});
    return instance.exports;
}

function bytes(address, length) {
    return new Uint8Array(exports.memory.buffer, address, length);
}

function decoded(address, length) {
    return new TextDecoder().decode(bytes(address, length));
}

function replyTo(request) {
    const text = new TextEncoder().encode(JSON.stringify(request));
    bytes(exports.dualfit_reserve(text.length), text.length).set(text);
    const length = exports.dualfit_run();
    return JSON.parse(decoded(exports.dualfit_text(), length));
}

// The message of a panic in the module, or an empty text.
function panicMessage() {
    try {
        return decoded(exports.dualfit_panic_text(), exports.dualfit_panic_length());
    } catch {
        return "";
    }
}

onmessage = async ({ data: { number, request } }) => {
    try {
        exports ??= await load();
        postMessage({ number, reply: replyTo(request) });
    } catch (why) {
        const panic = exports ? panicMessage() : "";
        postMessage({ number, fault: panic || String(why.message ?? why) });
    }
};
