// OpenAI's own client for JavaScript: chat completions and responses, through its helpers that build up the answer.
import OpenAI from "openai";

const clientOf = (job) => new OpenAI({ baseURL: `${job.base_url}/v1`, apiKey: job.token, maxRetries: 0 });

/** What is said so far may not differ from the whole. */
function agree(report, whole) {
  if (report.text !== whole) throw new Error(`the pieces say ${report.text}, the whole says ${whole}`);
}

function keepCompletion(completion, report) {
  const [choice] = completion.choices;
  report.finish = choice.finish_reason;
  report.calls = (choice.message.tool_calls ?? []).map(({ function: { name, arguments: text } }) => ({
    name,
    arguments: JSON.parse(text),
  }));
  report.parsed = choice.message.parsed ?? null;
  report.input_tokens = completion.usage?.prompt_tokens ?? null;
  report.output_tokens = completion.usage?.completion_tokens ?? null;
}

export async function askChat(job, { report, onPiece, signal }) {
  const body = { model: job.model, messages: [{ role: "user", content: job.prompt }], ...job.sampling };
  if (job.tools) {
    body.tools = Object.entries(job.toolSchemas).map(([name, parameters]) => ({
      type: "function",
      function: { name, parameters },
    }));
  }
  if (job.structured) {
    body.response_format = { type: "json_schema", json_schema: { name: "weather", schema: job.schema, strict: true } };
  }
  const completions = clientOf(job).chat.completions;
  if (!job.stream) {
    const completion = await (job.structured ? completions.parse(body, { signal }) : completions.create(body, { signal }));
    report.text = completion.choices[0].message.content ?? "";
    report.reasoning = completion.choices[0].message.reasoning_content ?? "";
    keepCompletion(completion, report);
    if (job.structured) report.parsed = JSON.parse(report.text);
    return;
  }
  const stream = completions.stream({ ...body, stream_options: { include_usage: true } }, { signal });
  stream.on("content.delta", ({ delta }) => delta && onPiece(delta)); // the first is empty, with the role
  stream.on("chunk", ({ choices }) => {
    for (const { delta } of choices) report.reasoning += delta.reasoning_content ?? "";
  });
  const completion = await stream.finalChatCompletion();
  agree(report, completion.choices[0].message.content ?? "");
  keepCompletion(completion, report);
  if (job.structured) report.parsed = JSON.parse(report.text);
}

function keepResponse(response, report) {
  report.finish = response.status === "incomplete" ? response.incomplete_details.reason : response.status;
  for (const item of response.output) {
    if (item.type === "function_call") report.calls.push({ name: item.name, arguments: JSON.parse(item.arguments) });
    if (item.type === "reasoning") {
      report.reasoning += [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join("");
    }
  }
  report.input_tokens = response.usage?.input_tokens ?? null;
  report.output_tokens = response.usage?.output_tokens ?? null;
}

export async function askResponses(job, { report, onPiece, signal }) {
  const body = { model: job.model, input: job.prompt, ...job.sampling };
  if (job.tools) {
    body.tools = Object.entries(job.toolSchemas).map(([name, parameters]) => ({
      type: "function",
      name,
      parameters,
      strict: false,
    }));
  }
  if (job.structured) {
    body.text = { format: { type: "json_schema", name: "weather", schema: job.schema, strict: true } };
  }
  const responses = clientOf(job).responses;
  if (!job.stream) {
    const response = await (job.structured ? responses.parse(body, { signal }) : responses.create(body, { signal }));
    report.text = response.output_text;
    keepResponse(response, report);
    report.parsed = response.output_parsed ?? null;
    return;
  }
  const stream = responses.stream(body, { signal });
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") onPiece(event.delta);
    if (event.type === "error") throw Object.assign(new Error(event.message), { name: "error" });
    if (event.type === "response.failed") {
      throw Object.assign(new Error(event.response.error.message), { name: "response.failed" });
    }
  }
  const response = await stream.finalResponse();
  agree(report, response.output_text ?? report.text);
  keepResponse(response, report);
  if (job.structured) report.parsed = response.output_parsed ?? JSON.parse(report.text);
}
