// Runs clients: a request on each line of standard input, pieces and then a report on lines of standard output.
import { createInterface } from "node:readline";

import { askCompatible, askUI } from "./ai_clients.mjs";
import { askChat, askResponses } from "./openai_clients.mjs";

const CLIENTS = {
  "openai-npm-chat": askChat,
  "openai-npm-responses": askResponses,
  "ai-compatible": askCompatible,
  "ai-ui": askUI,
};

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** What an error says of itself. */
function failureOf(error) {
  const retryAfter = error?.headers?.get?.("retry-after") ?? error?.responseHeaders?.["retry-after"] ?? null;
  return {
    kind: error?.name && error.name !== "Error" ? error.name : (error?.constructor?.name ?? typeof error),
    message: String(error?.message ?? error),
    status: error?.status ?? error?.statusCode ?? null,
    retry_after: retryAfter,
  };
}

async function run(job) {
  const report = { text: "", reasoning: "", calls: [], pieces: 0, left: false };
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error("the client's own time is over")), job.timeoutSeconds * 1000);
  const onPiece = (piece) => {
    report.text += piece;
    report.pieces += 1;
    print({ piece });
    if (job.leave) {
      report.left = true;
      abort.abort();
    }
  };
  try {
    await CLIENTS[job.name](job, { report, onPiece, signal: abort.signal });
  } catch (error) {
    if (!report.left) report.failure = failureOf(error);
  } finally {
    clearTimeout(timer);
  }
  return report;
}

for await (const line of createInterface({ input: process.stdin })) {
  print({ report: await run(JSON.parse(line)) });
}
