// The `ai` package: the model client of its OpenAI-compatible provider, and the reader of its UI message streams.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { DefaultChatTransport, Output, generateText, jsonSchema, readUIMessageStream, streamText, tool } from "ai";

const optionsOf = (job, signal) => ({
  model: createOpenAICompatible({
    name: "rxstream",
    baseURL: `${job.base_url}/v1`,
    apiKey: job.token,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })(job.model),
  prompt: job.prompt,
  ...job.sampling,
  maxRetries: 0,
  abortSignal: signal,
  ...(job.tools && {
    tools: Object.fromEntries(
      Object.entries(job.toolSchemas).map(([name, schema]) => [name, tool({ inputSchema: jsonSchema(schema) })]),
    ),
  }),
  ...(job.structured && { output: Output.object({ schema: jsonSchema(job.schema) }) }),
});

function keep(result, report) {
  report.finish = result.finishReason;
  report.calls = result.toolCalls.map(({ toolName, input }) => ({ name: toolName, arguments: input }));
  report.input_tokens = result.usage.inputTokens ?? null;
  report.output_tokens = result.usage.outputTokens ?? null;
}

export async function askCompatible(job, { report, onPiece, signal }) {
  if (!job.stream) {
    const result = await generateText(optionsOf(job, signal));
    report.text = result.text;
    report.reasoning = result.reasoningText ?? "";
    keep(result, report);
    if (job.structured) report.parsed = result.output;
    return;
  }
  const result = streamText({ ...optionsOf(job, signal), onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") onPiece(part.text);
    if (part.type === "reasoning-delta") report.reasoning += part.text;
    if (part.type === "error") throw part.error;
  }
  if (report.left) return;
  const [finishReason, toolCalls, usage] = await Promise.all([result.finishReason, result.toolCalls, result.usage]);
  keep({ finishReason, toolCalls, usage }, report);
  if (job.structured) report.parsed = await result.output;
}

/** The chunks of a stream, each shown to `see` on its way. */
const watched = (stream, see) =>
  stream.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        see(chunk);
        controller.enqueue(chunk);
      },
    }),
  );

export async function askUI(job, { report, onPiece, signal }) {
  const transport = new DefaultChatTransport({
    api: `${job.base_url}/api/chat`,
    headers: { authorization: `Bearer ${job.token}` },
    body: {
      model: job.model,
      includeUsage: true,
      ...job.sampling,
      ...(job.tools && {
        tools: Object.fromEntries(Object.entries(job.toolSchemas).map(([name, parameters]) => [name, { parameters }])),
      }),
      ...(job.structured && { responseFormat: { type: "json", schema: job.schema, name: "weather" } }),
    },
  });
  const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: job.prompt }] }];
  const chunks = await transport.sendMessages({
    chatId: "c1",
    messages,
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: signal,
  });
  const stream = watched(chunks, (chunk) => {
    if (chunk.type === "text-delta") onPiece(chunk.delta);
    if (chunk.type === "finish") report.finish = chunk.finishReason ?? null;
  });
  let message;
  for await (const next of readUIMessageStream({ stream, terminateOnError: true })) message = next;
  const parts = message?.parts ?? [];
  const saidIn = (type) => parts.filter((part) => part.type === type).map((part) => part.text).join("");
  if (saidIn("text") !== report.text) throw new Error("the pieces and the message differ");
  report.reasoning = saidIn("reasoning");
  if (job.structured) report.parsed = JSON.parse(report.text);
  report.input_tokens = message?.metadata?.usage?.input_tokens ?? null;
  report.output_tokens = message?.metadata?.usage?.output_tokens ?? null;
  report.calls = parts
    .filter((part) => part.type.startsWith("tool-") || part.type === "dynamic-tool")
    .map((part) => ({ name: part.toolName ?? part.type.slice("tool-".length), arguments: part.input }));
}
